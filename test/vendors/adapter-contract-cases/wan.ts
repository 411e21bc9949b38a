import { wan as simulator } from '../../../src/sandbox/vendors/wan.ts';
import { wan } from '../../../src/server/vendors/wan/adapter.ts';
import type { ContractCase } from '../contract-cases.ts';

const model = 'wan2.5-t2v-preview';
const image = 'https://images.example/pond.png';
const sound = 'https://sounds.example/frogs.mp3';

const contractCase: ContractCase = {
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
      images: [{ url: image }],
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
  waitingState: 'QUEUED',
  wrongCredentials: { api_key: 'sk-wrong' },
};

export const cases = [contractCase];
