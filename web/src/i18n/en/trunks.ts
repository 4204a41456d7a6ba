export const trunks = {};
