import Type from 'typebox';
import { endpoint } from './endpoint.ts';
import { Ok } from './schemas.ts';

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
