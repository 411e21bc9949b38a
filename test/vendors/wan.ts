import { wan as simulator } from '../../src/sandbox/vendors/wan.ts';
import { wan } from '../../src/server/video/vendors/wan.ts';
import type { VendorRow } from './row.ts';

const model = 'wan2.5-t2v-preview';
const image = 'https://pictures.example/pond.png';
const sound = 'https://sounds.example/frogs.mp3';

export const wanRow: VendorRow = {
  vendor: wan,
  simulator,
  model,
  text: {
    request: { prompt: 'A pond', seconds: 10, size: '1280x720' },
    body: () => ({
      model,
      input: { prompt: 'A pond' },
      parameters: { size: '1280*720', duration: 10, prompt_extend: true },
    }),
  },
  image: {
    request: {
      model: 'wan2.5-i2v-preview',
      prompt: 'Rain begins',
      images: [{ kind: 'url', url: image }],
      size: '720P',
    },
    body: () => ({
      model: 'wan2.5-i2v-preview',
      input: { prompt: 'Rain begins', img_url: image },
      parameters: { resolution: '720P', duration: 5, prompt_extend: true },
    }),
  },
  metadata: {
    request: {
      prompt: 'A pond',
      metadata: {
        input: { negative_prompt: 'text', audio_url: sound },
        parameters: { size: '1280*720', prompt_extend: false, watermark: true, audio: true, seed: 7 },
      },
    },
    body: () => ({
      model,
      input: { prompt: 'A pond', negative_prompt: 'text', audio_url: sound },
      parameters: { size: '1280*720', duration: 5, prompt_extend: false, watermark: true, audio: true, seed: 7 },
    }),
  },
  waits: 'QUEUED',
  wrongCredentials: { api_key: 'sk-wrong' },
};
