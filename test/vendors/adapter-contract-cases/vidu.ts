import { vidu as simulator } from '../../../src/sandbox/vendors/vidu.ts';
import { vidu } from '../../../src/server/vendors/vidu/adapter.ts';
import type { ContractCase } from '../contract-cases.ts';

const image = 'https://images.example/boat.png';

const contractCase: ContractCase = {
  vendor: vidu,
  simulator,
  model: 'viduq1',
  text: {
    request: { prompt: 'A boat', seconds: 5, size: '1920x1080' },
    body: (payload) => ({
      model: 'viduq1',
      prompt: 'A boat',
      duration: 5,
      aspect_ratio: '16:9',
      resolution: '1080p',
      payload,
    }),
  },
  image: {
    request: { prompt: 'It drifts', images: [{ url: image }] },
    body: (payload) => ({
      model: 'viduq1',
      prompt: 'It drifts',
      images: [image],
      duration: 5,
      resolution: '1080p',
      payload,
    }),
  },
  metadata: {
    request: { prompt: 'A boat', metadata: { resolution: '1080p', movement_amplitude: 'large', bgm: true, seed: 7 } },
    body: (payload) => ({
      model: 'viduq1',
      prompt: 'A boat',
      duration: 5,
      resolution: '1080p',
      movement_amplitude: 'large',
      bgm: true,
      seed: 7,
      payload,
    }),
  },
  waitingState: 'QUEUED',
  wrongCredentials: { api_key: 'vda_wrong' },
};

export const cases = [contractCase];
