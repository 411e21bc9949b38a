import { hailuo as simulator } from '../../../src/sandbox/vendors/hailuo.ts';
import { hailuo } from '../../../src/server/vendors/hailuo/adapter.ts';
import type { ContractCase } from '../contract-cases.ts';

const model = 'MiniMax-Hailuo-02';
const first = 'https://images.example/deer-1.png';
const last = 'https://images.example/deer-2.png';

const subject = [{ type: 'character', image: [first] }];

const contractCase: ContractCase = {
  vendor: hailuo,
  simulator,
  model,
  text: {
    request: { prompt: 'A deer', seconds: 10, size: '768P' },
    body: () => ({ model, prompt: 'A deer', duration: 10, resolution: '768P' }),
  },
  image: {
    request: {
      prompt: 'It looks up',
      images: [{ url: first }, { url: last }],
    },
    body: () => ({
      model,
      prompt: 'It looks up',
      duration: 6,
      resolution: '768P',
      first_frame_image: first,
      last_frame_image: last,
    }),
  },
  metadata: {
    request: {
      prompt: 'A deer',
      metadata: {
        resolution: '768P',
        prompt_optimizer: false,
        fast_pretreatment: true,
        first_frame_image: first,
        last_frame_image: last,
        aigc_watermark: true,
      },
    },
    body: () => ({
      model,
      prompt: 'A deer',
      duration: 6,
      resolution: '768P',
      prompt_optimizer: false,
      fast_pretreatment: true,
      first_frame_image: first,
      last_frame_image: last,
      aigc_watermark: true,
    }),
  },
  moreMetadata: [
    {
      request: { model: 'S2V-01', prompt: 'She smiles', metadata: { subject_reference: subject } },
      body: () => ({
        model: 'S2V-01',
        prompt: 'She smiles',
        duration: 6,
        resolution: '720P',
        subject_reference: subject,
      }),
    },
  ],
  waitingState: 'QUEUED',
  wrongCredentials: { api_key: 'sk-wrong' },
};

export const cases = [contractCase];
