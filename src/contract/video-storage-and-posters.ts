import Type from 'typebox';
import { endpoint } from './endpoint.ts';
import { Done, Ok } from './success-bodies-and-pagination.ts';

export const getStorage = endpoint({
  method: 'GET',
  path: '/api/storage',
  summary: 'Space of the stored copies of the own videos',
  tag: 'video',
  policy: 'account',
  envelope: 'api',
  response: Ok(
    Type.Object({
      enabled: Type.Boolean({ description: 'Whether finished videos are copied here.' }),
      files: Type.Integer(),
      used_bytes: Type.Integer(),
      limit_bytes: Type.Integer({ description: 'Beyond it the oldest copies make room for new ones.' }),
      days: Type.Integer({ description: 'How long a copy is kept; 0: for ever.' }),
    }),
  ),
});

/** Base64 of 256 KiB. */
const MAX_POSTER_TEXT = 350_000;

export const putPoster = endpoint({
  method: 'PUT',
  path: '/api/videos/:task_id/thumbnail',
  summary: 'Give an own finished video a poster; once, where it has none',
  tag: 'video',
  policy: 'account',
  envelope: 'api',
  params: Type.Object({ task_id: Type.String({ minLength: 1, maxLength: 200 }) }),
  bodyLimit: 512 * 1024,
  body: Type.Object({
    image: Type.String({
      minLength: 20,
      maxLength: MAX_POSTER_TEXT,
      pattern: '^[A-Za-z0-9+/]+={0,2}$',
      description: 'A JPEG or WebP picture of at most 256 KiB in Base64.',
    }),
  }),
  response: Done,
});
