export const now = {};
