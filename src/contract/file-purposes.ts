// Apart from the schemas, so that the command line's help does not load them.

/** What a file is for, as in OpenAI's Files API: media for videos and chat, or the lines of a batch. */
export const FILE_PURPOSES = ['vision', 'user_data', 'batch'] as const;
/** What a file is for. */
export type FilePurpose = (typeof FILE_PURPOSES)[number];

/** Seconds that `expires_after` may ask for: an hour to 30 days. */
export const FILE_LIFETIME_SECONDS = { least: 3_600, most: 2_592_000 } as const;
/** Characters of a file's name that are kept. */
export const MAX_FILENAME_LENGTH = 200;
