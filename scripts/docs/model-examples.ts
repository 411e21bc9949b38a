import type { VendorName } from '../../src/contract/states.ts';

/** One call for each vendor, shown in docs/models.md and run by a test as it stands there. */
export const MODEL_EXAMPLES: Readonly<
  Record<VendorName, { readonly model: string } & Readonly<Record<string, unknown>>>
> = {
  kling: {
    model: 'kling-v1-6',
    prompt: 'a fox runs over fresh snow',
    duration: 5,
    mode: 'pro',
    metadata: { negative_prompt: 'blur', cfg_scale: 0.5, aspect_ratio: '16:9' },
  },
  jimeng: {
    model: 'jimeng_v30',
    prompt: 'a paper crane takes off',
    duration: 5,
    metadata: { aspect_ratio: '9:16', seed: 7 },
  },
  hailuo: {
    model: 'MiniMax-Hailuo-02',
    prompt: 'waves against a lighthouse',
    duration: 6,
    metadata: { resolution: '768P', prompt_optimizer: true },
  },
  seedance: {
    model: 'doubao-seedance-1-5-pro-251215',
    prompt: 'a tram in the rain at night',
    duration: 5,
    metadata: { resolution: '720p', ratio: '16:9', generate_audio: true, watermark: false },
  },
  wan: {
    model: 'wan2.5-t2v-preview',
    prompt: 'rain on a pond',
    duration: 5,
    metadata: { input: { negative_prompt: 'people' }, parameters: { resolution: '720P', prompt_extend: true } },
  },
  veo: {
    model: 'veo-3.1-generate-preview',
    prompt: 'a kite over dunes',
    duration: 8,
    metadata: { aspectRatio: '16:9', resolution: '720p', negativePrompt: 'text' },
  },
  vidu: {
    model: 'viduq1',
    prompt: 'a boat drifts into fog',
    duration: 5,
    metadata: { resolution: '1080p', movement_amplitude: 'small', bgm: false },
  },
  sora: { model: 'sora-2', prompt: 'an owl turns its head', seconds: '4', size: '1280x720' },
};
