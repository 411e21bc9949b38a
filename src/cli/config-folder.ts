import envPaths from 'env-paths';

/** Where the sign-in and the settings of this user are kept. */
export const configFolder = (): string =>
  process.env.REELGATE_CONFIG_DIR ?? envPaths('reelgate', { suffix: '' }).config;
