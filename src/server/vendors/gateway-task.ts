import { asObject, defined, type UntrustedObject } from '../../contract/objects.ts';
import type { BufferedResponse } from '../platform/outbound/outbound.ts';
import { type AdapterContext, withoutVersion } from '../upstreams/upstream.ts';
import type { Artifact, ContentSource, QueryOutcome } from './adapter.ts';
import {
  type ErrorClass,
  failedTask,
  fileUrlOf,
  type Headers,
  isAboutTask,
  type ReportedReason,
  readReason,
  type TaskMembers,
  taskIdIn,
  toRawResponse,
  unreadablePoll,
  unwrapTask,
} from './json-calls.ts';
import { asId, asPercent, asText, asUrl, readTaskState } from './untrusted-json.ts';

/*
 * Gateways (New API and its forks, another Reelgate) accept a vendor's requests and respond in forms of their own:
 * OpenAI's video object, a task in `{code: "success", data}`, or an id alone. Source: QuantumNous/new-api,
 * `dto/task.go`, `dto/openai_video.go`, `relay/relay_task.go`.
 */

/** A row number may be in `id`. */
const MEMBERS: TaskMembers = { ids: ['task_id', 'id'], state: 'status' };

/** A gateway's code for an unknown id, under HTTP 400. */
export const NO_SUCH_TASK = 'task_not_exist';

/** The id in an accepted submit. An envelope may have an id and a status of its own next to the vendor's own `data`. */
export function submittedTaskId(json: unknown): string | undefined {
  const data = asObject(json)?.data;
  return asId(asObject(data)?.task_id) ?? taskIdIn(unwrapTask(json, MEMBERS), MEMBERS) ?? asId(data);
}

/** The task in a gateway's form; undefined for a vendor's own form, which has no id next to a `status`. */
function gatewayTask(json: unknown): UntrustedObject | undefined {
  const task = unwrapTask(json, MEMBERS);
  return asText(task?.status) === undefined || taskIdIn(task, MEMBERS) === undefined ? undefined : task;
}

const MAX_GATEWAYS = 4;

/** The vendor's own response, which gateways keep in `data` of their task; any other response unchanged. */
export function vendorResponse(json: unknown): unknown {
  let inner = json;
  for (let depth = 0; depth < MAX_GATEWAYS; depth += 1) inner = asObject(gatewayTask(inner)?.data) ?? inner;
  return inner;
}

/** URLs that need the channel's key; all others are public. */
const CONTENT_PATH = /\/videos\/[^/]+\/content$/;

/** The file's public URL, also in JSON that a gateway returns instead of the file. */
export const fileAddressIn = (json: unknown): string | undefined => asUrl(fileUrlOf(json, []));

/** The file of a finished task in a gateway's form. */
export function gatewayArtifact(task: unknown): Artifact {
  const url = fileAddressIn(task);
  return url === undefined || CONTENT_PATH.test(new URL(url).pathname) ? { kind: 'protected' } : { kind: 'url', url };
}

/**
 * Reads a response to a poll that is not in the vendor's own form.
 *
 * @param classify by the vendor's own codes and words
 * @throws PollFailed if it is not in a gateway's form, or about another task than `id`
 */
export function readGatewayTask(
  response: BufferedResponse,
  id: string,
  classify: (reported: ReportedReason, word: unknown) => ErrorClass,
): QueryOutcome {
  const task = gatewayTask(response.json);
  if (task === undefined || !isAboutTask(task, id, MEMBERS)) throw unreadablePoll(response);
  const raw = toRawResponse({ ...response, json: task });
  const state = readTaskState(task.status);
  if (state === 'SUCCESS') return { state, artifact: gatewayArtifact(task), raw };
  if (state !== 'FAILURE') return defined({ state, progress: asPercent(task.progress), raw });
  const reported = readReason(task.error, task, vendorResponse(task));
  return failedTask(raw, defined({ ...classify(reported, task.status), ...reported }));
}

/**
 * The file of a task, from a gateway's last response about it; undefined if the response is the vendor's own. A file
 * without a public URL is fetched from the channel's own host, never from the one that the response names, because the
 * request carries the key.
 *
 * @param vendor the name of the path below which gateways serve the vendor's API
 * @param authorize returns the headers of a GET request with the channel's credentials, which may be a pair of keys
 */
export async function gatewayFile(
  raw: unknown,
  { id, vendor }: { readonly id: string; readonly vendor: string },
  { baseUrl }: Pick<AdapterContext, 'baseUrl'>,
  authorize: (url: string) => Headers | Promise<Headers>,
): Promise<ContentSource | undefined> {
  const task = gatewayTask(raw);
  if (task === undefined) return undefined;
  const artifact = gatewayArtifact(task);
  if (artifact.kind === 'url') return { kind: 'fetch', url: artifact.url, headers: {}, trusted: false };
  const root = withoutVersion(baseUrl).replace(new RegExp(`/${vendor}(?:/native)?$`), '');
  const url = `${root}/v1/videos/${encodeURIComponent(id)}/content`;
  return { kind: 'fetch', url, headers: await authorize(url), trusted: true, addressIn: fileAddressIn };
}
