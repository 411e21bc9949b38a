/** A slash in a name is written `~` in addresses. */
export const toModelPath = (id: string): string => id.replaceAll('/', '~');
