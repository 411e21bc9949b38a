import { xai as simulator } from '../../../src/sandbox/vendors/xai.ts';
import { xai } from '../../../src/server/vendors/xai/adapter.ts';
import type { ContractCase } from '../contract-cases.ts';

const image = 'https://images.example/dunes.png';
const common = { model: 'grok-imagine-video-1.5', duration: 5, resolution: '720p' };

const contractCase: ContractCase = {
  vendor: xai,
  simulator,
  model: 'grok-imagine-video-1.5',
  text: {
    request: { prompt: 'A rocket', seconds: 10, size: '480p' },
    body: () => ({ ...common, prompt: 'A rocket', duration: 10, resolution: '480p' }),
  },
  image: {
    request: { prompt: 'It rises', images: [{ url: image }] },
    body: () => ({ ...common, prompt: 'It rises', image: { url: image } }),
  },
  metadata: {
    request: { prompt: 'A rocket', metadata: { aspect_ratio: '9:16', resolution: '480p', user: 'anna' } },
    body: () => ({ ...common, prompt: 'A rocket', aspect_ratio: '9:16', resolution: '480p', user: 'anna' }),
  },
  waitingState: 'QUEUED',
  wrongCredentials: { api_key: 'xai-wrong' },
  pollNamesNoJob: true,
};

export const cases = [contractCase];
