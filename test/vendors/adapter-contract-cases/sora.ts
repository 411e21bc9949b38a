import { sora as simulator } from '../../../src/sandbox/vendors/sora.ts';
import { sora } from '../../../src/server/vendors/sora/adapter.ts';
import type { ContractCase } from '../contract-cases.ts';

const image = 'https://images.example/owl.png';

const contractCase: ContractCase = {
  vendor: sora,
  simulator,
  model: 'sora-2',
  text: {
    request: { prompt: 'An owl', seconds: 8, size: '1280x720' },
    body: () => ({ model: 'sora-2', prompt: 'An owl', seconds: '8', size: '1280x720' }),
  },
  image: {
    request: { prompt: 'It flies', images: [{ url: image }] },
    body: () => ({ model: 'sora-2', prompt: 'It flies', input_reference: { image_url: image } }),
  },
  // The table is empty: Sora's fields are native fields of the body, so it needs no metadata.
  metadata: {
    request: { prompt: 'An owl', metadata: {} },
    body: () => ({ model: 'sora-2', prompt: 'An owl' }),
  },
  waitingState: 'QUEUED',
  wrongCredentials: { api_key: 'sk-wrong' },
  missingFileIsUnknown: true,
};

export const cases = [contractCase];
