/** Setting names accepted by `reelgate config`. */
export const DEFAULT_MODEL_SETTING_NAMES = ['video-model', 'chat-model'] as const;
/** Name of a setting. */
export type SettingName = (typeof DEFAULT_MODEL_SETTING_NAMES)[number];
