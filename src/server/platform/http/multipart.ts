import multipart from '@fastify/multipart';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { AppError, invalidRequest } from '../app-error.ts';
import { isWithinBounds } from '../parse-untrusted-json.ts';
import { hasOnlyWellFormedText } from '../well-formed-text-and-code-points.ts';

export interface UploadedFile {
  readonly field: string;
  readonly filename: string;
  readonly mimeType: string;
  readonly bytes: Buffer;
}

const LIMITS = {
  fields: 50,
  fieldSize: 1024 * 1024,
  files: 4,
  fileSize: 64 * 1024 * 1024,
  parts: 60,
  headerPairs: 50,
};

/** Of a part that is JSON itself, as of a JSON body. */
const MAX_DEPTH = 64;
const MAX_VALUES = 50_000;

export async function registerMultipart(fastify: FastifyInstance): Promise<void> {
  await fastify.register(multipart, { limits: LIMITS });
}

export interface MultipartBody {
  /** Text parts; `name[part]` makes nested objects one level deep and `name[]` a list, as OpenAI's clients send them. */
  readonly fields: { readonly [name: string]: unknown };
  readonly files: readonly UploadedFile[];
}

/** Reads a whole multipart body within its limits; repeated text parts are ambiguous, so they are an error, as in JSON. */
export async function readMultipart(request: FastifyRequest): Promise<MultipartBody> {
  try {
    return await readParts(request);
  } catch (error) {
    throw isParserError(error) ? invalidRequest('The multipart body is malformed or ends too early.') : error;
  }
}

/** The parser's own errors are bare; ours say by their class and the plugin's by a status what they are. */
const isParserError = (error: unknown): boolean =>
  error instanceof Error && !(error instanceof AppError) && !('statusCode' in error);

async function readParts(request: FastifyRequest): Promise<MultipartBody> {
  const fields: Record<string, unknown> = Object.create(null);
  const files: UploadedFile[] = [];
  for await (const part of request.parts()) {
    if (part.type === 'file') {
      const bytes = await part.toBuffer();
      files.push({ field: part.fieldname, filename: part.filename ?? '', mimeType: part.mimetype, bytes });
      continue;
    }
    if (part.valueTruncated) throw new AppError('body_too_large', { params: { limit: '1 MiB per field' } });
    // A part that calls itself JSON comes parsed, without the bounds of a body.
    if (!isWithinBounds(part.value, MAX_DEPTH, MAX_VALUES)) throw new AppError('invalid_json');
    if (!hasOnlyWellFormedText(part.value)) throw new AppError('invalid_text');
    setField(fields, part.fieldname, part.value);
  }
  return { fields: { ...fields }, files };
}

const NAME = /^([A-Za-z0-9_.-]{1,64})(?:\[([A-Za-z0-9_.-]{0,64})\])?$/;
const FORBIDDEN = new Set(['__proto__', 'constructor', 'prototype']);

function setField(fields: Record<string, unknown>, fieldName: string, value: unknown): void {
  const [, name, inner] = NAME.exec(fieldName) ?? [];
  if (name === undefined || FORBIDDEN.has(name) || (inner !== undefined && FORBIDDEN.has(inner)))
    throw invalidRequest('The part name is not accepted.');
  if (inner === undefined) {
    if (Object.hasOwn(fields, name)) throw invalidRequest(`${name} is given twice.`, name);
    fields[name] = value;
    return;
  }
  const holder = fields[name] ?? (inner === '' ? [] : Object.create(null));
  fields[name] = holder;
  if (Array.isArray(holder) !== (inner === '')) throw invalidRequest(`${name} is given twice.`, name);
  if (Array.isArray(holder)) {
    holder.push(value);
    return;
  }
  if (typeof holder !== 'object' || holder === null || Object.hasOwn(holder, inner))
    throw invalidRequest(`${name} is given twice.`, name);
  (holder as Record<string, unknown>)[inner] = value;
}
