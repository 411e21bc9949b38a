/** How many of the newest videos the studio lists. */
export const RECENT = 24;
