/** Product files of 301–500 lines and why they stay whole. */
export const LONG_FILES: Readonly<Record<string, string>> = {};
