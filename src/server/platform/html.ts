/** Text as it may stand anywhere in HTML, attribute values in quotes included. */
export const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`);
