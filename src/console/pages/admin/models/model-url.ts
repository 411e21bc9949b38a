/** A slash in a model name is written `~` in URLs. */
export const toModelUrlPart = (id: string): string => id.replaceAll('/', '~');
