import Type, { type Static } from 'typebox';
import { endpoint } from './endpoint.ts';
import { Done, IdParam, Ok } from './responses.ts';

/** Maximum number of collections per account, chosen so that one response holds them all. */
export const MAX_COLLECTIONS = 200;
/** Maximum number of videos one request adds or removes. */
export const MAX_COLLECTION_CHANGES = 100;

const collections = { organization: 'member', tag: 'video', policy: 'account', envelope: 'api' } as const;

/** A named group of own videos. */
export const Collection = Type.Object({
  id: Type.Integer(),
  name: Type.String(),
  videos: Type.Integer({ description: 'How many videos it has; deleted ones do not count.' }),
  contains: Type.Optional(
    Type.Boolean({ description: 'Whether the video of the query `task_id` is in it; absent without the query.' }),
  ),
  created_at: Type.Integer({ description: 'Unix seconds.' }),
});
/** A named group of own videos. */
export type Collection = Static<typeof Collection>;

const Name = Type.Object({ name: Type.String({ minLength: 1, maxLength: 80, pattern: '\\S' }) });
const TaskIds = Type.Object({
  task_ids: Type.Array(Type.String({ minLength: 1, maxLength: 200 }), {
    minItems: 1,
    maxItems: MAX_COLLECTION_CHANGES,
  }),
});

export const listCollections = endpoint({
  ...collections,
  method: 'GET',
  path: '/api/collections',
  summary: 'Collections of the account by name; GET /api/videos?collection=ID has the videos of one',
  query: Type.Object({ task_id: Type.Optional(Type.String({ maxLength: 200 })) }),
  response: Ok(Type.Array(Collection)),
});

export const createCollection = endpoint({
  ...collections,
  method: 'POST',
  path: '/api/collections',
  summary: 'Create an empty collection; its name must be free',
  body: Name,
  response: Ok(Type.Object({ id: Type.Integer() })),
});

export const renameCollection = endpoint({
  ...collections,
  method: 'PUT',
  path: '/api/collections/:id',
  summary: 'Rename a collection',
  params: IdParam,
  body: Name,
  response: Done,
});

export const deleteCollection = endpoint({
  ...collections,
  method: 'DELETE',
  path: '/api/collections/:id',
  summary: 'Delete a collection; its videos stay',
  params: IdParam,
  response: Done,
});

export const addToCollection = endpoint({
  ...collections,
  method: 'POST',
  path: '/api/collections/:id/videos',
  summary: 'Add videos to a collection, all or none; those already in it stay',
  params: IdParam,
  body: TaskIds,
  response: Done,
});

export const removeFromCollection = endpoint({
  ...collections,
  method: 'POST',
  path: '/api/collections/:id/videos/remove',
  summary: 'Remove videos from a collection; they are not deleted',
  params: IdParam,
  body: TaskIds,
  response: Done,
});
