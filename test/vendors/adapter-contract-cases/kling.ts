import { kling as simulator } from '../../../src/sandbox/vendors/kling.ts';
import { kling } from '../../../src/server/vendors/kling/adapter.ts';
import type { ContractCase } from '../contract-cases.ts';

const image = 'https://images.example/fox.png';
const metadata = {
  negative_prompt: 'blur',
  cfg_scale: 0.7,
  aspect_ratio: '1:1',
  camera_control: {
    type: 'simple',
    config: { horizontal: 0, vertical: 0, pan: 0, tilt: 0, roll: 0, zoom: 3 },
  },
};

const contractCase: ContractCase = {
  vendor: kling,
  simulator,
  model: 'kling-v1-6',
  text: {
    request: { prompt: 'A fox', seconds: 10, size: '1280x720', mode: 'pro' },
    body: (taskId) => ({
      model_name: 'kling-v1-6',
      prompt: 'A fox',
      mode: 'pro',
      duration: '10',
      aspect_ratio: '16:9',
      external_task_id: taskId,
    }),
  },
  image: {
    request: { prompt: 'It runs', images: [{ url: image }] },
    body: (taskId) => ({
      model_name: 'kling-v1-6',
      prompt: 'It runs',
      image,
      mode: 'std',
      duration: '5',
      external_task_id: taskId,
    }),
  },
  metadata: {
    request: { model: 'kling-v2-6', prompt: 'A fox', mode: 'pro', metadata: { ...metadata, sound: true } },
    body: (taskId) => ({
      model_name: 'kling-v2-6',
      prompt: 'A fox',
      mode: 'pro',
      duration: '5',
      ...metadata,
      sound: 'on',
      external_task_id: taskId,
    }),
  },
  waitingState: 'SUBMITTED',
  wrongCredentials: { access_key: 'ak-sandbox-kling', secret_key: 'wrong' },
  // Code 1103 is about the model, not the key.
  reasons: { forbidden: 'model' },
};

export const cases = [contractCase];
