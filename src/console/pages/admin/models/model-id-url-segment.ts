/** A slash in a model name is written `~` in URLs. */
export const toModelUrlSegment = (id: string): string => id.replaceAll('/', '~');
