import { Type } from 'typebox';
import type { OutboundAnswer } from '../../platform/outbound/outbound.ts';
import {
  CouldNotAsk,
  type Json,
  type QueryOutcome,
  type VendorCall,
  type VendorError,
  type VideoVendor,
} from '../vendor.ts';
import { asId, asObject, asText, asUrl, entryOf, toRaw } from '../vendor-answer.ts';
import { readSeconds } from '../vendor-body.ts';
import {
  failedTask,
  type Meaning,
  notAnAnswer,
  refusedPoll,
  toVendorError,
  unreadable,
  withoutArtifact,
} from '../vendor-errors.ts';
import { readMetadata, toBody } from './hailuo-body.ts';
import { H3_MODEL, HAILUO_MODELS } from './hailuo-models.ts';
import { deleteH3, meterH3, queryH3, readAddressH3, submitH3 } from './hailuo-v2.ts';

/** MiniMax "Video Generation", the first protocol, of all Hailuo models: three requests, errors inside HTTP 200. */

// --- Status mapping ---

/** The documents write `Fail`; the vendor's own client knows `Failed`. Callbacks write all of them in lower case. */
export const STATES: Readonly<Record<string, QueryOutcome['state']>> = {
  preparing: 'SUBMITTED',
  queueing: 'QUEUED',
  processing: 'IN_PROGRESS',
  success: 'SUCCESS',
  fail: 'FAILURE',
  failed: 'FAILURE',
};

/** A whole number of up to 18 digits loses its end in a JSON number, so ids are read from the text where they are numbers. */
export function readLongId(answer: OutboundAnswer, key: 'file_id' | 'task_id'): string | undefined {
  const value = asObject(answer.json)?.[key];
  if (typeof value !== 'number') return asId(value);
  return new RegExp(`"${key}"\\s*:\\s*(\\d{1,20})\\s*[,}]`).exec(answer.text)?.[1];
}

interface Handle {
  readonly taskId: string;
  readonly fileId?: string;
  /** 2 for MiniMax-H3, whose protocol is another. */
  readonly version?: 2;
}
const readHandle = (handle: Json): Handle => asObject(handle) as unknown as Handle;

/** What a poll's answer says; `fileId` where the video can be asked for. Throws CouldNotAsk where it says nothing. */
export function readStatus(answer: OutboundAnswer, taskId: string, nowMs: number): QueryOutcome | { fileId: string } {
  const reply = asObject(answer.json);
  if (answer.status !== 200) throw refusedPoll(toError(answer, nowMs));
  if (!reply) throw notAnAnswer(answer);
  const about = readLongId(answer, 'task_id');
  if (about !== undefined && about !== taskId) throw notAnAnswer(answer);
  const raw = toRaw(answer);
  const word = asText(reply.status);
  const error = toError(answer, nowMs);
  const state = word === undefined ? undefined : (entryOf(STATES, word.toLowerCase()) ?? 'UNKNOWN');
  const isRefused = error.code !== '' && error.code !== '0';
  if (state === undefined && isRefused) {
    // The poll carries nothing but the id, so a refused parameter is an unknown id.
    if (error.code === '2013') return failedTask(raw, { ...error, reason: 'missing' });
    if (error.reason === 'policy') return failedTask(raw, error);
    throw refusedPoll(error);
  }
  if (state === 'FAILURE') {
    return failedTask(raw, isRefused ? error : { reason: 'other', message: 'task failed' });
  }
  if (state !== 'SUCCESS') return { state: state ?? 'UNKNOWN', raw };
  const fileId = readLongId(answer, 'file_id');
  if (fileId !== undefined) return { fileId };
  if (reply.file_id !== undefined && reply.file_id !== null && reply.file_id !== '') throw notAnAnswer(answer);
  return isRefused ? failedTask(raw, error) : withoutArtifact(raw);
}

// --- Error reading (MiniMax "Error codes"; HTTP 200 for nearly all of them) ---

export const CODES: Readonly<Record<string, Meaning>> = {
  1000: { reason: 'capacity' },
  1001: { reason: 'capacity' },
  1002: { reason: 'rate' },
  1004: { reason: 'auth' },
  1008: { reason: 'billing' },
  1013: { reason: 'capacity' },
  1024: { reason: 'capacity' },
  1026: { reason: 'policy' },
  1027: { reason: 'policy' },
  1028: { reason: 'billing' },
  1030: { reason: 'billing' },
  1033: { reason: 'capacity' },
  1039: { reason: 'rate' },
  1041: { reason: 'rate' },
  1042: { reason: 'user' },
  2013: { reason: 'user' },
  2045: { reason: 'rate' },
  2049: { reason: 'auth' },
  2056: { reason: 'rate' },
  2061: { reason: 'model' },
};

export function toError(answer: OutboundAnswer, nowMs: number): VendorError {
  const told = asObject(asObject(answer.json)?.base_resp);
  const code = asId(told?.status_code) ?? '';
  return toVendorError(answer, nowMs, { code, message: asText(told?.status_msg) ?? '', meaning: entryOf(CODES, code) });
}

// --- The object ---

const headersOf = (call: VendorCall) => ({ authorization: `Bearer ${call.credentials.api_key}` });

async function get(call: VendorCall, path: string, query: Readonly<Record<string, string>>): Promise<OutboundAnswer> {
  const url = `${toOrigin(call)}${path}?${new URLSearchParams(query)}`;
  return call.json({ method: 'GET', url, headers: headersOf(call), signal: call.signal });
}

/** People paste the address with the version their client wants. */
const toOrigin = (call: VendorCall) => call.baseUrl.replace(/\/v[12]$/, '');

/** A link lives for an hour and the file longer, so each look asks for a new one. */
async function retrieve(call: VendorCall, fileId: string): Promise<string> {
  const answer = await get(call, '/v1/files/retrieve', { file_id: fileId });
  const error = toError(answer, call.now());
  const url = asUrl(asObject(asObject(answer.json)?.file)?.download_url);
  if (answer.status !== 200 || (error.code !== '' && error.code !== '0')) throw refusedPoll(error);
  if (url === undefined) throw notAnAnswer(answer);
  return url;
}

export const hailuo: VideoVendor = {
  name: 'hailuo',
  title: 'Hailuo',
  defaultBaseUrl: 'https://api.minimax.io',
  credentials: Type.Object({ api_key: Type.String({ minLength: 1 }) }, { additionalProperties: false }),
  models: HAILUO_MODELS,
  metadata: readMetadata.schema,
  // The current page says an hour, older ones nine; a file can be looked up again.
  addressLifeMs: 55 * 60_000,

  meter(request) {
    if (request.model === H3_MODEL) return meterH3(request, readMetadata(request.metadata));
    const body = toBody(request);
    const resolution = asText(body.resolution);
    return {
      seconds: readSeconds(body.duration, 'duration'),
      factors: {
        ...(resolution === undefined ? {} : { resolution }),
        ...(request.size === undefined ? {} : { size: request.size }),
      },
    };
  },

  async submit(request, call) {
    const connection = { origin: toOrigin(call), headers: headersOf(call) };
    if (request.model === H3_MODEL) return submitH3(request, readMetadata(request.metadata), connection, call);
    const answer = await call.json({
      method: 'POST',
      url: `${connection.origin}/v1/video_generation`,
      headers: { ...connection.headers, 'content-type': 'application/json' },
      body: JSON.stringify(toBody(request)),
      signal: call.signal,
    });
    const error = toError(answer, call.now());
    const isRefused = answer.status >= 400 || (error.code !== '' && error.code !== '0');
    if (isRefused) return { kind: 'refused', error, raw: toRaw(answer) };
    const taskId = readLongId(answer, 'task_id');
    if (taskId === undefined || answer.status !== 200) throw unreadable(answer);
    return { kind: 'accepted', handle: { taskId }, upstreamId: taskId, raw: toRaw(answer) };
  },

  async query(handle, call) {
    const { taskId, fileId, version } = readHandle(handle);
    if (version === 2) return queryH3(taskId, { origin: toOrigin(call), headers: headersOf(call) }, call);
    const answer = await get(call, '/v1/query/video_generation', { task_id: taskId });
    const outcome = readStatus(answer, taskId, call.now());
    if (!('fileId' in outcome)) return outcome;
    const url = await retrieve(call, outcome.fileId);
    const known = { taskId, fileId: outcome.fileId };
    const taught = fileId === outcome.fileId ? {} : { handle: known };
    return { state: 'SUCCESS', artifact: { kind: 'url', url }, raw: toRaw(answer), ...taught };
  },

  async content(handle, raw, _variant, call) {
    const { fileId, version } = readHandle(handle);
    const stored = fileId ?? asId(asObject(raw)?.file_id);
    const url = version === 2 ? readAddressH3(raw) : stored && (await retrieve(call, stored));
    if (!url) throw new CouldNotAsk('the stored answer of this task names no video');
    return { kind: 'fetch', url, headers: {}, trusted: false };
  },

  async remove(handle, call) {
    const { taskId, version } = readHandle(handle);
    if (version === 2) await deleteH3(taskId, { origin: toOrigin(call), headers: headersOf(call) }, call);
  },

  async probe(call) {
    const answer = await get(call, '/v1/query/video_generation', { task_id: '0' });
    const error = toError(answer, call.now());
    // The id is made up: any answer about it, but one about the key or the vendor, shows that the key is right.
    const isFine = answer.status === 200 && error.code !== '' && (error.code === '0' || error.reason === 'user');
    return isFine ? { ok: true } : { ok: false, error };
  },
};
