import { loadMedia } from '../../../src/sandbox/media.ts';
import { veo as geminiSimulator, serviceAccount, veoVertex } from '../../../src/sandbox/vendors/veo.ts';
import { veoInteractions } from '../../../src/sandbox/vendors/veo-interactions.ts';
import type { MediaInput } from '../../../src/server/vendors/adapter.ts';
import { veo } from '../../../src/server/vendors/veo/adapter.ts';
import type { ContractCase } from '../contract-cases.ts';

const { bytes } = loadMedia('image.png');
const data = bytes.toString('base64');
const input: MediaInput = { bytes, mediaType: 'image/png' };
const image = { bytesBase64Encoded: data, mimeType: 'image/png' };

const text: ContractCase['text'] = {
  request: { prompt: 'A kite', seconds: 6, size: '720x1280' },
  body: () => ({
    instances: [{ prompt: 'A kite' }],
    parameters: { sampleCount: 1, durationSeconds: 6, aspectRatio: '9:16', resolution: '720p' },
  }),
};
const frames: ContractCase['image'] = {
  request: { prompt: 'It rises', images: [input, input] },
  body: () => ({
    instances: [{ prompt: 'It rises', image, lastFrame: image }],
    parameters: { sampleCount: 1, durationSeconds: 8, resolution: '720p' },
  }),
};
const native = {
  aspectRatio: '16:9',
  durationSeconds: 8,
  negativePrompt: 'text',
  personGeneration: 'allow_adult',
  resolution: '1080p',
} as const;

const geminiCase: ContractCase = {
  vendor: veo,
  simulator: geminiSimulator,
  model: 'veo-3.1-generate-preview',
  text,
  image: frames,
  metadata: {
    request: { prompt: 'A kite', metadata: native },
    body: () => ({ instances: [{ prompt: 'A kite' }], parameters: { sampleCount: 1, ...native } }),
  },
  waitingState: 'IN_PROGRESS',
  wrongCredentials: { api_key: 'AIza-wrong' },
};

const cloud = {
  ...native,
  sampleCount: 1,
  seed: 7,
  generateAudio: false,
  enhancePrompt: true,
  compressionQuality: 'optimized',
} as const;

const vertexCase: ContractCase = {
  vendor: veo,
  simulator: veoVertex,
  model: 'veo-3.1-generate-001',
  text,
  image: frames,
  metadata: {
    request: { prompt: 'A kite', metadata: cloud },
    body: () => ({ instances: [{ prompt: 'A kite' }], parameters: cloud }),
  },
  moreMetadata: [
    {
      request: { prompt: 'It rises', images: [input], metadata: { resizeMode: 'pad' } },
      body: () => ({
        instances: [{ prompt: 'It rises', image }],
        parameters: { sampleCount: 1, durationSeconds: 8, resolution: '720p', resizeMode: 'pad' },
      }),
    },
  ],
  metadataElsewhere: ['storageUri'],
  waitingState: 'IN_PROGRESS',
  // A valid key file whose URL has no token endpoint.
  wrongCredentials: {
    service_account: { ...serviceAccount('http://127.0.0.1:1'), token_uri: 'no address' },
    project: 'sandbox-project',
    location: 'us-central1',
  },
};

const OMNI = 'gemini-omni-1.2-flash';
const part = { type: 'image', data, mime_type: 'image/png' };
const omniCase: ContractCase = {
  vendor: veo,
  simulator: veoInteractions,
  model: OMNI,
  text: {
    request: { prompt: 'A kite', seconds: 5, size: '360x640' },
    body: () => ({
      model: OMNI,
      input: [{ type: 'text', text: 'A kite' }],
      background: true,
      response_format: { type: 'video', aspect_ratio: '9:16', resolution: '360p', duration: '5s', delivery: 'uri' },
    }),
  },
  image: {
    request: { prompt: 'It rises', images: [input] },
    body: () => ({
      model: OMNI,
      input: [part, { type: 'text', text: 'It rises' }],
      background: true,
      response_format: { type: 'video', resolution: '720p', duration: '8s', delivery: 'uri' },
      generation_config: { video_config: { task: 'image_to_video' } },
    }),
  },
  metadata: {
    request: {
      prompt: 'A kite',
      metadata: { aspectRatio: '16:9', durationSeconds: 12, resolution: '1080p', task: 'text_to_video' },
    },
    body: () => ({
      model: OMNI,
      input: [{ type: 'text', text: 'A kite' }],
      background: true,
      response_format: { type: 'video', aspect_ratio: '16:9', resolution: '1080p', duration: '12s', delivery: 'uri' },
      generation_config: { video_config: { task: 'text_to_video' } },
    }),
  },
  waitingState: 'QUEUED',
  wrongCredentials: { api_key: 'AIza-wrong' },
};

export const cases = [geminiCase, vertexCase, omniCase];
