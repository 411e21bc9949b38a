/** Names of the settings, as `reelgate config` takes them. */
export const DEFAULT_MODEL_SETTING_NAMES = ['video-model', 'chat-model'] as const;
export type SettingName = (typeof DEFAULT_MODEL_SETTING_NAMES)[number];
