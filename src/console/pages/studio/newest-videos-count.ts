/** How many of the newest videos the studio lists. */
export const NEWEST_VIDEOS_COUNT = 24;
