import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { forEachDatabase } from '../databases.ts';
import { assertBooks } from '../faults/books.ts';
import { type ChatService, eventsOf, spokenIn, startChat } from './service.ts';

const LINK = /^!\[image\]\(http:\/\/127\.0\.0\.1:\d+\/jimeng\/[^ ()]+\)$/;

forEachDatabase((name, _open, freshUrl) => {
  let service: ChatService;
  before(async () => {
    service = await startChat(await freshUrl(), { env: { CHAT_KEEPALIVE_SECONDS: '1' } });
    await service.addChannel('jimeng', ['jimeng_t2i_v30', 'jimeng_i2i_v30']);
  });
  after(async () => {
    await assertBooks(service.app.database);
    await service.stop();
  });
  const picture = { model: 'jimeng_t2i_v30', size: '1024x1024' };

  test(`${name}: a picture is answered as a Markdown link and costs its price`, async () => {
    const { status, body } = await service.ask('a lantern', picture);
    assert.equal(status, 200);
    const [choice] = body.choices as unknown as { message: { content: string }; finish_reason: string }[];
    assert.match(choice?.message.content ?? '', LINK);
    assert.equal(choice?.finish_reason, 'stop');
    assert.deepEqual((await service.settled())[0]?.charged, 14_000);
    const job = service.sandbox.control.jobs('jimeng').at(-1);
    assert.equal((job?.input as { width: number } | undefined)?.width, 1024);
  });

  test(`${name}: streamed, with a comment while it is made`, async () => {
    const text = await (await service.stream('a lantern [slow]', picture)).text();
    assert.match(spokenIn(text), LINK);
    assert.equal(eventsOf(text).at(-1), '[DONE]');
  });

  test(`${name}: from a picture the caller sends`, async () => {
    const content = [
      { type: 'text', text: 'at night' },
      { type: 'image_url', image_url: { url: 'https://media.example.test/a.png' } },
    ];
    const { status } = await service.ask('', { model: 'jimeng_i2i_v30', messages: [{ role: 'user', content }] });
    assert.equal(status, 200);
  });

  test(`${name}: refused and failed pictures say why and are given back`, async () => {
    for (const [text, status] of [
      ['[policy] a lantern', 400],
      ['[fail] a lantern', 502],
      ['[filtered] a lantern', 400],
    ] as const) {
      const { status: got, body } = await service.ask(text, picture);
      assert.equal(got, status, `${text} ${JSON.stringify(body)}`);
      assert.equal((await service.settled())[0]?.kind, 'refund', text);
    }
  });
});
