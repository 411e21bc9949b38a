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

const masks = {
  static_mask: image,
  dynamic_masks: [
    {
      mask: image,
      trajectories: [
        { x: 0, y: 0 },
        { x: 9, y: 9 },
      ],
    },
  ],
};
const referred = {
  video_list: [{ video_url: 'https://videos.example/fox.mp4', refer_type: 'feature', keep_original_sound: 'no' }],
  element_list: [{ element_id: 7 }],
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
  moreMetadata: [
    {
      request: { prompt: 'It runs', mode: 'pro', images: [{ url: image }], metadata: { image_tail: image } },
      body: (taskId) => ({
        model_name: 'kling-v1-6',
        prompt: 'It runs',
        image,
        image_tail: image,
        mode: 'pro',
        duration: '5',
        external_task_id: taskId,
      }),
    },
    {
      request: { prompt: 'It runs', images: [{ url: image }], metadata: masks },
      body: (taskId) => ({
        model_name: 'kling-v1-6',
        prompt: 'It runs',
        image,
        mode: 'std',
        duration: '5',
        ...masks,
        external_task_id: taskId,
      }),
    },
    {
      request: { model: 'kling-v3-omni', prompt: 'A fox', metadata: referred },
      body: (taskId) => ({
        model_name: 'kling-v3-omni',
        prompt: 'A fox',
        mode: 'std',
        duration: '5',
        ...referred,
        external_task_id: taskId,
      }),
    },
  ],
  waitingState: 'SUBMITTED',
  wrongCredentials: { access_key: 'ak-sandbox-kling', secret_key: 'wrong' },
  // Code 1103 is about the model, not the key.
  reasons: { forbidden: 'model' },
};

export const cases = [contractCase];
