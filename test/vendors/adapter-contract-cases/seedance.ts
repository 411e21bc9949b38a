import { seedance as simulator } from '../../../src/sandbox/vendors/seedance.ts';
import { seedance } from '../../../src/server/vendors/seedance/adapter.ts';
import type { ContractCase } from '../contract-cases.ts';

const model = 'doubao-seedance-1-5-pro-251215';
const first = 'https://images.example/heron-1.png';
const last = 'https://images.example/heron-2.png';
const frame = (url: string, role: string) => ({ type: 'image_url', image_url: { url }, role });

const options = {
  draft: true,
  output_format: 'mov',
  return_last_frame: true,
  priority: 3,
  execution_expires_after: 7_200,
};

const contractCase: ContractCase = {
  vendor: seedance,
  simulator,
  model,
  text: {
    request: { prompt: 'A heron', seconds: 10, size: '1280x720' },
    body: () => ({
      model,
      content: [{ type: 'text', text: 'A heron' }],
      resolution: '720p',
      ratio: '16:9',
      duration: 10,
    }),
  },
  image: {
    request: {
      prompt: 'It lands',
      images: [{ url: first }, { url: last }],
    },
    body: () => ({
      model,
      content: [{ type: 'text', text: 'It lands' }, frame(first, 'first_frame'), frame(last, 'last_frame')],
      resolution: '720p',
      duration: 5,
    }),
  },
  metadata: {
    request: {
      prompt: 'A heron',
      metadata: {
        content: [frame(first, 'first_frame')],
        resolution: '1080p',
        ratio: '9:16',
        seed: 7,
        generate_audio: false,
        camera_fixed: true,
        watermark: false,
      },
    },
    body: () => ({
      model,
      content: [{ type: 'text', text: 'A heron' }, frame(first, 'first_frame')],
      resolution: '1080p',
      ratio: '9:16',
      duration: 5,
      seed: 7,
      generate_audio: false,
      camera_fixed: true,
      watermark: false,
    }),
  },
  moreMetadata: [
    {
      request: { prompt: 'A heron', metadata: options },
      body: () => ({
        model,
        content: [{ type: 'text', text: 'A heron' }],
        resolution: '480p',
        duration: 5,
        ...options,
      }),
    },
    {
      request: { model: 'doubao-seedance-1-0-pro-250528', prompt: 'A heron', metadata: { frames: 121 } },
      body: () => ({
        model: 'doubao-seedance-1-0-pro-250528',
        content: [{ type: 'text', text: 'A heron' }],
        resolution: '1080p',
        frames: 121,
      }),
    },
  ],
  metadataElsewhere: ['draft_task'],
  waitingState: 'QUEUED',
  wrongCredentials: { api_key: 'wrong' },
};

export const cases = [contractCase];
