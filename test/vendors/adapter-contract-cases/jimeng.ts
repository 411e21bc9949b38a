import { jimeng as simulator } from '../../../src/sandbox/vendors/jimeng.ts';
import { jimeng } from '../../../src/server/vendors/jimeng/adapter.ts';
import type { ContractCase } from '../contract-cases.ts';

const image = 'https://images.example/crane.png';

const contractCase: ContractCase = {
  vendor: jimeng,
  simulator,
  model: 'jimeng_v30',
  text: {
    request: { prompt: 'A crane', seconds: 10, size: '1280x720' },
    body: () => ({ req_key: 'jimeng_t2v_v30', prompt: 'A crane', frames: 241, aspect_ratio: '16:9' }),
  },
  image: {
    request: { prompt: 'It bows', images: [{ url: image }] },
    body: () => ({ req_key: 'jimeng_i2v_first_v30', prompt: 'It bows', image_urls: [image] }),
  },
  metadata: {
    request: { prompt: 'A crane', metadata: { aspect_ratio: '9:16', seed: 7, frames: 121 } },
    body: () => ({ req_key: 'jimeng_t2v_v30', prompt: 'A crane', aspect_ratio: '9:16', seed: 7, frames: 121 }),
  },
  waitingState: 'QUEUED',
  wrongCredentials: { access_key: 'AKLTsandboxjimeng', secret_key: 'wrong' },
  // A single code covers a closed service, account and model.
  reasons: { forbidden: 'model', billing: 'model' },
  pollNamesNoJob: true,
};

export const cases = [contractCase];
