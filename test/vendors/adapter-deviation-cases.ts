import type { Json, VendorAdapter } from '../../src/server/vendors/adapter.ts';
import { runway } from '../../src/server/vendors/runway/adapter.ts';
import { seedance } from '../../src/server/vendors/seedance/adapter.ts';
import { sora } from '../../src/server/vendors/sora/adapter.ts';
import { veo } from '../../src/server/vendors/veo/adapter.ts';
import { wan } from '../../src/server/vendors/wan/adapter.ts';

/** Members of a JSON object. */
export type Fields = Readonly<Record<string, unknown>>;

/** A vendor's documented responses in parts, from which the script builds those of relays. */
export interface DeviationCase {
  readonly vendor: VendorAdapter;
  readonly model: string;
  /** As stored with the task that the responses are about. */
  readonly handle: Json;
  /** The response to an accepted submit. */
  readonly accepted: Fields;
  /** The poll response for a finished and for a failed task, with these members of the task. */
  done(task: Fields): Fields;
  failed(task: Fields): Fields;
  /** The documented positions of the file URL and of the failure text, as members of the task. */
  film(url: string): Fields;
  reason(text: string): Fields;
  /** A response about another task. */
  foreign(answer: Fields): Fields;
  /** A response with another state name, if the vendor has state names. */
  state?(word: string, task: Fields): Fields;
  /** Compatible services keep the structure of a task and rename its members. */
  readonly isRenamed?: true;
  /** Members of a finished response that report no usage, and those that report 7 units or seconds. */
  readonly usage?: { readonly zero: readonly Fields[]; readonly seven: readonly Fields[] };
}

const SORA = { id: 'video_1', object: 'video', model: 'sora-2', progress: 40 };
const soraCase: DeviationCase = {
  vendor: sora,
  model: 'sora-2',
  handle: { id: 'video_1' },
  accepted: { ...SORA, status: 'queued' },
  done: (task) => ({ ...SORA, status: 'completed', ...task }),
  failed: (task) => ({ ...SORA, status: 'failed', ...task }),
  film: (url) => ({ video_url: url }),
  reason: (message) => ({ error: { code: 'x', message } }),
  foreign: (answer) => ({ ...answer, id: 'video_2' }),
  state: (status, task) => ({ ...SORA, ...task, status }),
  isRenamed: true,
};

const WAN = { task_id: '3c5a9d0e', submit_time: '2026-11-20 10:00:00.101' };
const wanAnswer = (output: Fields, usage?: Fields): Fields => ({
  request_id: 'r',
  output: { ...WAN, ...output },
  ...(usage && { usage }),
});
const wanCase: DeviationCase = {
  vendor: wan,
  model: 'wan2.5-t2v-preview',
  handle: { id: '3c5a9d0e' },
  accepted: wanAnswer({ task_status: 'PENDING' }),
  done: (task) => wanAnswer({ task_status: 'SUCCEEDED', ...task }),
  failed: (task) => wanAnswer({ task_status: 'FAILED', ...task }),
  film: (url) => ({ video_url: url }),
  reason: (message) => ({ code: 'x', message }),
  foreign: (answer) => ({ ...answer, output: { ...(answer.output as Fields), task_id: 'another' } }),
  state: (task_status, task) => wanAnswer({ ...task, task_status }),
  isRenamed: true,
  usage: {
    zero: [{}, { usage: null }, { usage: { duration: 0, video_duration: 0 } }, { usage: { duration: '0.0' } }],
    seven: [
      { usage: { duration: 7 } },
      { usage: { duration: 0, video_duration: '6.4' } },
      { usage: { duration: null, output_video_duration: 7 } },
    ],
  },
};

const SEEDANCE = { id: 'cgt-1', model: 'doubao-seedance-1-0-pro-250528', created_at: 1 };
const seedanceCase: DeviationCase = {
  vendor: seedance,
  model: 'doubao-seedance-1-0-pro-250528',
  handle: { id: 'cgt-1' },
  accepted: { id: 'cgt-1' },
  done: (task) => ({ ...SEEDANCE, status: 'succeeded', ...task }),
  failed: (task) => ({ ...SEEDANCE, status: 'failed', ...task }),
  film: (url) => ({ content: { video_url: url } }),
  reason: (message) => ({ error: { code: 'x', message } }),
  foreign: (answer) => ({ ...answer, id: 'cgt-2' }),
  state: (status, task) => ({ ...SEEDANCE, ...task, status }),
  isRenamed: true,
  usage: {
    zero: [{}, { usage: null }, { usage: { completion_tokens: 0, total_tokens: 0 } }],
    seven: [{ usage: { completion_tokens: 7 } }, { usage: { completion_tokens: 0, total_tokens: '7' } }],
  },
};

const RUNWAY = { id: '497f6eca', createdAt: '2026-11-20T10:00:00.000Z' };
const runwayCase: DeviationCase = {
  vendor: runway,
  model: 'gen4.5',
  handle: { id: '497f6eca' },
  accepted: { id: '497f6eca' },
  done: (task) => ({ ...RUNWAY, status: 'SUCCEEDED', ...task }),
  failed: (task) => ({ ...RUNWAY, status: 'FAILED', ...task }),
  film: (url) => ({ output: [url] }),
  reason: (failure) => ({ failure, failureCode: 'x' }),
  foreign: (answer) => ({ ...answer, id: 'another' }),
  state: (status, task) => ({ ...RUNWAY, ...task, status }),
  isRenamed: true,
};

const OPERATION = 'models/veo-3.1-generate-preview/operations/7tq2';
const operationCase: DeviationCase = {
  vendor: veo,
  model: 'veo-3.1-generate-preview',
  handle: { route: 'gemini', name: OPERATION },
  accepted: { name: OPERATION },
  done: (task) => ({ name: OPERATION, done: true, ...task }),
  failed: (task) => ({ name: OPERATION, done: true, ...task }),
  film: (uri) => ({ response: { generateVideoResponse: { generatedSamples: [{ video: { uri } }] } } }),
  reason: (message) => ({ error: { code: 13, message } }),
  foreign: (answer) => ({ ...answer, name: `${OPERATION}x` }),
};

const OMNI = { id: 'v1_8f2c', object: 'interaction' };
const omniCase: DeviationCase = {
  vendor: veo,
  model: 'gemini-omni-1.2-flash',
  handle: { route: 'gemini', interaction: 'v1_8f2c' },
  accepted: { ...OMNI, status: 'in_progress' },
  done: (task) => ({ ...OMNI, status: 'completed', ...task }),
  failed: (task) => ({ ...OMNI, status: 'failed', ...task }),
  film: (uri) => ({ output_video: { type: 'video', uri } }),
  reason: (message) => ({ errors: [{ code: 'internal', message }] }),
  foreign: (answer) => ({ ...answer, id: 'v1_other' }),
  state: (status, task) => ({ ...OMNI, ...task, status }),
  usage: {
    zero: [{}, { usage: null }, { usage: { output_tokens_by_modality: [{ modality: 'VIDEO', tokens: 0 }] } }],
    seven: [{ usage: { output_tokens_by_modality: [{ modality: 'video', token_count: 7 }] } }],
  },
};

/** One case per vendor and route. */
export const DEVIATION_CASES: readonly DeviationCase[] = [
  soraCase,
  wanCase,
  seedanceCase,
  runwayCase,
  operationCase,
  omniCase,
];
