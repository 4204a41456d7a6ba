export const call = {};
