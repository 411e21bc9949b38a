import { loadMedia } from '../../src/sandbox/media.ts';
import { serviceAccount } from '../../src/sandbox/vendors/google-account.ts';
import { veo as geminiSimulator, veoVertex } from '../../src/sandbox/vendors/veo.ts';
import type { Media } from '../../src/server/video/vendor.ts';
import { veo } from '../../src/server/video/vendors/veo.ts';
import type { VendorRow } from './row.ts';

const data = loadMedia('picture.png').bytes.toString('base64');
const picture: Media = { kind: 'base64', data, mimeType: 'image/png' };
const image = { bytesBase64Encoded: data, mimeType: 'image/png' };

const text: VendorRow['text'] = {
  request: { prompt: 'A kite', seconds: 6, size: '720x1280' },
  body: () => ({
    instances: [{ prompt: 'A kite' }],
    parameters: { sampleCount: 1, durationSeconds: 6, aspectRatio: '9:16', resolution: '720p' },
  }),
};
const frames: VendorRow['image'] = {
  request: { prompt: 'It rises', images: [picture, picture] },
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

export const veoRow: VendorRow = {
  vendor: veo,
  simulator: geminiSimulator,
  model: 'veo-3.1-generate-preview',
  text,
  image: frames,
  metadata: {
    request: { prompt: 'A kite', metadata: native },
    body: () => ({ instances: [{ prompt: 'A kite' }], parameters: { sampleCount: 1, ...native } }),
  },
  waits: 'IN_PROGRESS',
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

export const veoVertexRow: VendorRow = {
  vendor: veo,
  simulator: veoVertex,
  model: 'veo-3.1-generate-001',
  text,
  image: frames,
  metadata: {
    request: { prompt: 'A kite', metadata: cloud },
    body: () => ({ instances: [{ prompt: 'A kite' }], parameters: cloud }),
  },
  waits: 'IN_PROGRESS',
  // The right key file, but no token endpoint stands at this address.
  wrongCredentials: {
    service_account: { ...serviceAccount('http://127.0.0.1:1'), token_uri: 'no address' },
    project: 'sandbox-project',
    location: 'us-central1',
  },
};
