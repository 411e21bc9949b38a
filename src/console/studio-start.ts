/** Whether the visit begins at the studio, whose data and code are then asked for before the page that shows them runs. */
export const beginsAtStudio = (): boolean => /^\/(studio\/?)?$/.test(location.pathname);

/** Whether the studio plays its newest video at once, which it does unless the address names others. */
export const isPlayedAtOnce = <V extends { readonly status: string }>(newest: V | undefined): newest is V =>
  newest?.status === 'SUCCESS' && !location.search.includes('show=');

/** How many of the newest videos the studio lists. */
export const NEWEST_VIDEOS_COUNT = 24;
