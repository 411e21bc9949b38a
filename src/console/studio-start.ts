/** Whether the visit starts at the studio, whose data and code are then preloaded. */
export const beginsAtStudio = (): boolean => /^\/(studio\/?)?$/.test(location.pathname);

/** Whether the newest video plays on the stage at once, which it does unless the URL names other videos. */
export const isPlayedAtOnce = <V extends { readonly status: string }>(newest: V | undefined): newest is V =>
  newest?.status === 'SUCCESS' && !location.search.includes('show=');

/** Number of newest videos the studio lists. */
export const NEWEST_VIDEOS_COUNT = 24;
