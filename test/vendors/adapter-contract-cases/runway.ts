import { runway as simulator } from '../../../src/sandbox/vendors/runway.ts';
import { runway } from '../../../src/server/vendors/runway/adapter.ts';
import type { ContractCase } from '../contract-cases.ts';

const image = 'https://images.example/lantern.png';

const contractCase: ContractCase = {
  vendor: runway,
  simulator,
  model: 'gen4.5',
  text: {
    request: { prompt: 'A lantern', seconds: 10, size: '720x1280' },
    body: () => ({ model: 'gen4.5', promptText: 'A lantern', ratio: '720:1280', duration: 10 }),
  },
  image: {
    request: { prompt: 'It floats', images: [{ url: image }] },
    body: () => ({ model: 'gen4.5', promptText: 'It floats', promptImage: image, ratio: '1280:720', duration: 5 }),
  },
  metadata: {
    request: {
      prompt: 'A lantern',
      metadata: { seed: 7, contentModeration: { publicFigureThreshold: 'low' } },
    },
    body: () => ({
      model: 'gen4.5',
      promptText: 'A lantern',
      ratio: '1280:720',
      duration: 5,
      seed: 7,
      contentModeration: { publicFigureThreshold: 'low' },
    }),
  },
  moreMetadata: [
    {
      request: { model: 'veo3.1', prompt: 'A lantern', metadata: { audio: false, negativePrompt: 'blur' } },
      body: () => ({
        model: 'veo3.1',
        promptText: 'A lantern',
        ratio: '1280:720',
        duration: 8,
        audio: false,
        negativePrompt: 'blur',
      }),
    },
  ],
  waitingState: 'QUEUED',
  wrongCredentials: { api_key: 'key_wrong' },
};

export const cases = [contractCase];
