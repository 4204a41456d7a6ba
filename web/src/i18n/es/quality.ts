export const quality = {};
