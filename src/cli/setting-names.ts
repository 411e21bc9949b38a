/** Names of the settings, as `reelgate config` takes them. */
export const SETTING_NAMES = ['video-model', 'chat-model'] as const;
export type SettingName = (typeof SETTING_NAMES)[number];
