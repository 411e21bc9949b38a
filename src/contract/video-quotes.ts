import Type from 'typebox';
import { endpoint } from './endpoint.ts';
import { Receipt } from './receipts.ts';
import { submitDefaults, takesPictures, VideoBody } from './video.ts';

const HowMany = Type.Union([Type.Integer({ minimum: 0 }), Type.Null()], { description: 'null: without a limit.' });

/** What a video would cost, and how many of them can be made. Nothing is started or reserved. */
export const Quote = Type.Object({
  quota: Type.Integer({ description: 'What is reserved; never less than what is charged.' }),
  model: Type.String(),
  facts: Receipt.properties.facts,
  lines: Type.Array(Receipt.properties.lines.items),
  affordable: Type.Boolean({ description: 'Whether one can be started now.' }),
  from_allowance: Type.Integer({ description: 'What of it the allowance would pay now.' }),
  from_wallet: Type.Integer(),
  how_many_now: HowMany,
  how_many_today: Type.Union([Type.Integer({ minimum: 0 }), Type.Null()], {
    description:
      'Until the end of the day of the account, with allowances that begin anew before; null: without a limit.',
  }),
  balance: Type.Integer({ description: 'Of the wallet.' }),
  windows: Type.Array(
    Type.Object({
      kind: Type.Enum(['day', 'interval', 'week']),
      limit: Type.Integer(),
      left: Type.Integer(),
      full_again: Type.Integer({ description: 'When it begins anew, in Unix seconds.' }),
      how_many: Type.Union([Type.Integer({ minimum: 0 }), Type.Null()], { description: 'That fit into what is left.' }),
    }),
    {
      description:
        'Of the allowance; empty without one. An amount must fit into all of them, or the wallet pays the rest.',
    },
  ),
  key_left: Type.Union([Type.Integer(), Type.Null()], {
    description: 'What the own limit of the key leaves; null: none.',
  }),
});

const ModelQuote = Type.Object({ object: Type.Literal('video.quote'), ...Quote.properties });

export const quoteModelVideo = endpoint({
  ...submitDefaults,
  path: '/v1/videos/quote',
  summary: 'What this video would cost and how many can be made; starts nothing. The body of POST /v1/videos',
  envelope: 'openai-video',
  ...takesPictures,
  body: VideoBody,
  response: ModelQuote,
  documentedResponse: ModelQuote,
});
