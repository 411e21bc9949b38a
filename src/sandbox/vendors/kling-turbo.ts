import { randomInt } from 'node:crypto';
import { asObject } from '../../contract/objects.ts';
import {
  type ProblemKind,
  type Route,
  type SimulatorContext,
  type SimulatorRequest,
  type SimulatorResponse,
  toShape,
} from '../define-simulator.ts';
import type { Job, JobPhase } from '../jobs.ts';
import { klingUnits } from './kling-and-vidu-billed-units.ts';

/** Kling's newer API, for 3.0 Turbo: the model is part of the path, and tasks are queried by their ids in the query. */

interface ResponseBuilders {
  envelope(status: number, code: number, message: string, data?: unknown): SimulatorResponse;
  refusal(problem: ProblemKind, message?: string): SimulatorResponse;
}

type Body = Readonly<Record<string, unknown>>;

const WORDS: Readonly<Record<JobPhase, string>> = {
  queued: 'submitted',
  running: 'processing',
  succeeded: 'succeeded',
  failed: 'failed',
  filtered: 'failed',
  expired: 'failed',
  cancelled: 'failed',
  unknown: 'rendering',
};
const REASONS: Readonly<Partial<Record<JobPhase, string>>> = {
  failed: 'Task processing failed, please try again',
  filtered: 'Failure to pass the risk control system',
  expired: 'Task expired',
  cancelled: 'Task cancelled',
};
const SETTINGS: Readonly<Record<string, (value: unknown) => boolean>> = {
  resolution: (value) => value === '720p' || value === '1080p',
  aspect_ratio: (value) => value === '16:9' || value === '9:16' || value === '1:1',
  duration: (value) => Number.isInteger(value) && Number(value) >= 3 && Number(value) <= 15,
};

/** The objection to a body; undefined when it is valid. */
function check(body: Body, from: 'text' | 'image'): string | undefined {
  const settings = asObject(body.settings ?? {});
  if (!settings) return 'settings must be an object';
  for (const [key, value] of Object.entries(settings))
    if (SETTINGS[key]?.(value) !== true || (from === 'image' && key === 'aspect_ratio'))
      return `settings.${key} is invalid`;
  const contents = Array.isArray(body.contents) ? body.contents.map(asObject) : [];
  const types = contents.map((part) => part?.type).join();
  if (from === 'text') return typeof body.prompt === 'string' && body.prompt !== '' ? undefined : 'prompt is required';
  return types === 'prompt,first_frame' ? undefined : 'contents must be a prompt and a first_frame';
}

const textOf = (body: Body): string => {
  const [first] = Array.isArray(body.contents) ? body.contents.map(asObject) : [];
  const text = body.prompt ?? first?.text;
  return typeof text === 'string' ? text : '';
};

function toTask(job: Job, phase: JobPhase, hasArtifact: boolean, context: SimulatorContext) {
  const task = {
    id: job.id,
    status: WORDS[phase],
    message: REASONS[phase] ?? '',
    create_time: job.createdAtMs,
    update_time: context.now(),
    external_id: job.externalId ?? '',
  };
  if (phase !== 'succeeded') return task;
  const { body } = job.input as { readonly body: Body };
  const amount = klingUnits(job.model, body, job.seconds);
  const video = { type: 'video', id: `v-${job.id}`, url: context.artifactUrl(job), duration: `${job.seconds}.1` };
  return {
    ...task,
    outputs: hasArtifact ? [video] : [],
    billing: [{ charge_type: 'unit', amount, package_type: 'video' }],
  };
}

export function klingTurboRoutes({ envelope, refusal }: ResponseBuilders): readonly Route[] {
  const create = (request: SimulatorRequest, context: SimulatorContext): SimulatorResponse => {
    const body = request.json();
    if (!body) return refusal('invalid', 'Request body is not valid JSON');
    const wrong = check(body, request.params.from === 'image' ? 'image' : 'text');
    if (wrong !== undefined) return refusal('invalid', wrong);
    const external = asObject(body.options)?.external_task_id;
    const externalId = typeof external === 'string' && external !== '' ? external : undefined;
    if (externalId !== undefined && context.jobs.findByExternalId(externalId))
      return refusal('invalid', `external_task_id ${externalId} is already used`);
    const settings = asObject(body.settings) ?? {};
    const job = context.createJob({
      id: `${context.now()}${randomInt(10_000, 99_999)}`,
      prompt: textOf(body),
      model: 'kling-v3-turbo',
      input: { family: 'turbo', body: { ...body, mode: settings.resolution === '1080p' ? 'pro' : 'std' } },
      shape: toShape(settings.aspect_ratio),
      audio: true,
      seconds: Number(settings.duration ?? 5),
      externalId,
    });
    return envelope(200, 0, 'SUCCEED', { id: job.id, status: 'submitted', create_time: job.createdAtMs });
  };
  const query = ({ query: asked }: SimulatorRequest, context: SimulatorContext): SimulatorResponse => {
    const id = asked.get('task_ids');
    const job =
      id === null ? context.jobs.findByExternalId(asked.get('external_task_ids') ?? '') : context.jobs.find(id);
    if (!job) return id === null ? envelope(200, 0, 'SUCCEED', []) : refusal('not_found');
    const { phase, hasArtifact } = context.pollJob(job);
    return envelope(200, 0, 'SUCCEED', [toTask(job, phase, hasArtifact, context)]);
  };
  return [
    { method: 'POST', path: /^\/(?<from>text|image)-to-video\/kling-3\.0-turbo$/, operation: 'submit', handle: create },
    { method: 'GET', path: '/tasks', operation: 'query', handle: query },
  ];
}
