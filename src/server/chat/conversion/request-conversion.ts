import type { UntrustedObject } from '../../../contract/is-object.ts';
import type { Channel } from '../../channels/directory.ts';
import { toRequestBytes } from '../../platform/request-bytes.ts';
import type { ChatRequest, OutputLimit } from '../chat-request.ts';
import type { Dialect } from '../dialect.ts';
import { outputLimitKey, ownOutputLimit } from '../output-limit.ts';
import { toolsOf } from '../refuse-or-charge-request-options.ts';
import type { Codec } from './dialect-codecs.ts';
import { DroppedFields } from './dropped-fields.ts';
import type { ToolOrigin } from './neutral-form.ts';
import { notExpressibleError } from './not-expressible-error.ts';

export interface ConversionTarget {
  /** Of the upstream. */
  readonly dialect: Dialect;
  readonly model: string;
  readonly channel: Channel;
  /** The limit that was reserved, where the caller named none. */
  readonly limit: OutputLimit | undefined;
  /** Tools to leave out, by index. */
  readonly droppedTools: readonly number[];
}

export interface ConvertedRequest {
  readonly body: Buffer;
  /** Paths of what was left out. */
  readonly dropped: readonly string[];
  /** What the functions of these names are to the caller. */
  readonly origins: ReadonlyMap<string, ToolOrigin>;
}

/** Where the caller wrote the limit. */
function limitPath({ maxTokensKeys: keys, limitContainer }: Dialect, body: UntrustedObject): string {
  if (limitContainer !== undefined) return `${limitContainer}.${keys[0]}`;
  return keys.find((key) => body[key] !== undefined && body[key] !== null) ?? keys[0] ?? '';
}

/** The request in the upstream's dialect. @throws AppError `invalid_request` for what it cannot say */
export function convertRequest(
  { body, dialect: asked, requestedLimit, stream, governedOptions }: ChatRequest,
  { source, target }: { readonly source: Codec; readonly target: Codec },
  { dialect, model, channel, limit, droppedTools }: ConversionTarget,
): ConvertedRequest {
  // What a channel lets pass, perhaps for a price, has no words in another dialect.
  const permitted = governedOptions.find(({ rule, toolIndex }) => rule !== 'pass' && toolIndex === undefined);
  if (permitted !== undefined) throw notExpressibleError(permitted.path);
  const notes = new DroppedFields();
  const tools = toolsOf(body).filter((_, index) => !droppedTools.includes(index));
  const wanted = limit?.tokens ?? requestedLimit;
  const maxTokens = Math.min(wanted, ownOutputLimit(channel) ?? wanted);
  // Clients ask for as much as the models of their own dialect can give.
  if (maxTokens < requestedLimit) notes.drop(limitPath(asked, body));
  const conversation = source.readRequest({ ...body, tools }, notes);
  const maxTokensKey = outputLimitKey(dialect, model, channel);
  const written = target.writeRequest(conversation, { model, maxTokens, maxTokensKey, stream }, notes);
  const origins = new Map(
    conversation.tools.flatMap(({ name, origin }) => (origin === undefined ? [] : [[name, origin]])),
  );
  return { body: toRequestBytes(JSON.stringify(written)), dropped: notes.dropped, origins };
}
