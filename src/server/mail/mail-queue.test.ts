import assert from 'node:assert/strict';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { afterEach, describe, it, type TestContext } from 'node:test';
import { forEachDatabase } from '../../../test/for-each-database.ts';
import { HOUR_MS } from '../../contract/time-units.ts';
import { manualClock } from '../platform/clock.ts';
import { openLog } from '../platform/log.ts';
import { MailQueue, MailStore, SmtpError, SmtpSender, toConnection } from './mail-queue.ts';

/** A mail server that accepts a mail only when `accept` is called, and then counts it as received. */
async function slowServer(t: TestContext) {
  const received: string[] = [];
  const greetings: string[] = [];
  const whole = Promise.withResolvers<Socket>();
  const server = createServer((socket) => {
    let text = '';
    let isData = false;
    socket.on('error', () => {});
    socket.write('220 slow\r\n');
    socket.on('data', (chunk) => {
      text += String(chunk);
      for (let end = text.indexOf('\r\n'); end !== -1; end = text.indexOf('\r\n')) {
        const line = text.slice(0, end);
        text = text.slice(end + 2);
        if (line.startsWith('EHLO')) greetings.push(line);
        if (isData) {
          if (/^message-id:/i.test(line)) received.push(line.replace(/^message-id:\s*/i, ''));
          if (line !== '.') continue;
          isData = false;
          whole.resolve(socket);
        } else if (line === 'DATA') {
          isData = true;
          socket.write('354 go on\r\n');
        } else socket.write('250 ok\r\n');
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  const { port } = server.address() as { port: number };
  return { url: `smtp://127.0.0.1:${port}`, received, greetings, whole: whole.promise };
}

describe('mails', () => {
  forEachDatabase((_name, open) => {
    async function setUp(sender: ConstructorParameters<typeof MailQueue>[0]['sender'], store?: MailStore) {
      const database = await open();
      const clock = manualClock();
      const log = openLog('silent');
      const queue = new MailQueue({
        ...{ store: store ?? new MailStore(database), sender, clock, log },
        hostname: 'reelgate.example',
      });
      queue.registerKind('note', async ({ params }) => ({ subject: params.subject ?? '', text: 'text' }));
      const enqueue = (id: string) =>
        database.transaction((trx) =>
          queue.enqueue(trx, {
            ...{ id, kind: 'note', recipient: 'ada@example.com', locale: 'en', params: { subject: id } },
            expiresAt: clock.now() + HOUR_MS,
          }),
        );
      const waiting = async () =>
        (await database.kysely.selectFrom('outgoing_mails').select('id').execute()).map(({ id }) => id);
      return { database, clock, queue, enqueue, waiting };
    }

    it('wait for a server that accepts slowly, under one Message-ID', async (t) => {
      const server = await slowServer(t);
      const sender = new SmtpSender({ url: server.url, from: 'a@example.com' });
      t.after(() => sender.close());
      const { queue, enqueue, waiting } = await setUp(sender);
      await enqueue('slow');
      const sending = queue.sendDue();
      const socket = await server.whole;
      assert.deepEqual(await waiting(), ['slow']);
      socket.write('250 accepted\r\n');
      await sending;
      assert.deepEqual([server.received, await waiting()], [['<slow@reelgate.example>'], []]);
    });

    it('that take long keep their claim, and hold up no other mail', async (t) => {
      t.mock.timers.enable({ apis: ['setInterval'] });
      const slow = Promise.withResolvers<void>();
      const sent: string[] = [];
      const begun = Promise.withResolvers<void>();
      const { database, clock, queue, enqueue, waiting } = await setUp({
        async send({ subject }) {
          sent.push(subject);
          if (subject === 'slow') begun.resolve();
          if (subject === 'slow') await slow.promise;
        },
        close() {},
      });
      queue.start();
      await enqueue('slow');
      await begun.promise;
      await enqueue('quick');
      while ((await waiting()).length > 1) await new Promise((resolve) => setTimeout(resolve, 5));
      assert.deepEqual(sent, ['slow', 'quick']);
      const claimedUntil = async () =>
        (await database.kysely.selectFrom('outgoing_mails').select('next_try_at').executeTakeFirstOrThrow())
          .next_try_at;
      const before = await claimedUntil();
      clock.advance(60_000);
      t.mock.timers.tick(60_000);
      while ((await claimedUntil()) === before) await new Promise((resolve) => setTimeout(resolve, 5));
      assert.equal(await claimedUntil(), before + 60_000);
      slow.resolve();
      while ((await waiting()).length > 0) await new Promise((resolve) => setTimeout(resolve, 5));
      await queue.stop();
      assert.deepEqual(sent, ['slow', 'quick']);
    });

    it('are not sent again when the row of an accepted mail cannot be deleted', async () => {
      const sent: string[] = [];
      const database = await open();
      const store = new MailStore(database);
      let failures = 1;
      const remove = store.delete.bind(store);
      store.delete = async (id) => {
        if (failures-- > 0) throw new Error('the database is away');
        await remove(id);
      };
      const sender = { send: async ({ subject }: { subject: string }) => void sent.push(subject), close() {} };
      const { clock, queue } = await setUp(sender, store);
      await database.transaction((trx) =>
        queue.enqueue(trx, {
          ...{ id: 'one', kind: 'note', recipient: 'ada@example.com', locale: 'en', params: { subject: 'one' } },
          expiresAt: clock.now() + HOUR_MS,
        }),
      );
      await queue.sendDue();
      clock.advance(60_000);
      await queue.sendDue();
      assert.deepEqual(sent, ['one']);
      assert.deepEqual(await database.kysely.selectFrom('outgoing_mails').select('id').execute(), []);
    });
  });
});

it('a mail server that never replies is given up after the time-out', async (t) => {
  const server = await slowServer(t);
  const sender = new SmtpSender({ url: server.url, from: 'a@example.com' }, 50);
  t.after(() => sender.close());
  const mail = { messageId: '<m@reelgate.example>', to: 'ada@example.com', subject: 's', text: 't' };
  await assert.rejects(sender.send(mail), (error) => error instanceof SmtpError && !error.permanent);
});

const MAIL = { messageId: '<1@reelgate.example>', to: 'ada@example.org', subject: 'Hello', text: 'Hello' };

/** An SMTP server that refuses one command. */
async function startSmtpServer(refused: string, reply: string): Promise<Server> {
  const server = createServer((socket) => {
    socket.write('220 mail.example ESMTP\r\n');
    createInterface(socket).on('line', (line) => {
      if (line.startsWith(refused)) socket.write(`${reply}\r\n`);
      else if (line.startsWith('DATA')) socket.write('354 go on\r\n');
      else if (line.startsWith('QUIT')) socket.end('221 bye\r\n');
      else if (/^(EHLO|MAIL|RCPT|RSET|\.$)/.test(line)) socket.write('250 mail.example\r\n');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return server;
}

describe('a mail that the SMTP server refuses', () => {
  let server: Server;
  let sender: SmtpSender;
  afterEach(() => {
    sender.close();
    server.close();
  });

  for (const [refused, reply, permanent] of [
    ['MAIL', '553 5.7.1 Sender address rejected: not owned by user', false],
    ['MAIL', '530 5.7.0 Authentication required', false],
    ['RCPT', '550 5.1.1 User unknown', true],
    ['RCPT', '450 4.2.1 Mailbox busy', false],
    ['.', '554 5.7.1 Message refused', true],
  ] as const)
    it(`is ${permanent ? 'dropped' : 'tried again'} after ${reply}`, async () => {
      server = await startSmtpServer(refused, reply);
      const { port } = server.address() as AddressInfo;
      sender = new SmtpSender({ url: `smtp://127.0.0.1:${port}`, from: 'service@reelgate.example' });
      await assert.rejects(
        () => sender.send(MAIL),
        (error) => error instanceof SmtpError && error.permanent === permanent && error.message.includes(reply),
      );
    });
});

it('introduces itself by the host of the service, if that is a name', async (t) => {
  for (const [baseUrl, greeting] of [
    ['https://films.example.com', /^EHLO films\.example\.com$/],
    ['http://127.0.0.1:3000', /^EHLO (?!127)/],
    ['http://localhost:3000', /^EHLO (?!localhost)/],
  ] as const) {
    const server = await slowServer(t);
    const sender = new SmtpSender({ url: server.url, from: 'a@example.com', baseUrl });
    t.after(() => sender.close());
    await sender.verify();
    assert.match(server.greetings[0] ?? '', greeting);
  }
});

it('uses TLS or STARTTLS as the standard port wants', () => {
  for (const [given, url, requireTLS] of [
    ['smtp://u:p@mx.example:465', 'smtps://u:p@mx.example:465', true],
    ['smtps://u:p@mx.example:587', 'smtp://u:p@mx.example:587', true],
    ['smtps://mx.example:25', 'smtp://mx.example:25', true],
    ['smtp://mx.example:25', 'smtp://mx.example:25', false],
    ['smtp://u:p@mx.example:587', 'smtp://u:p@mx.example:587', true],
    ['smtp://u:p@localhost:1025', 'smtp://u:p@localhost:1025', false],
    ['smtps://u:p@mx.example', 'smtps://u:p@mx.example', true],
    ['smtps://u:p@mx.example:2465', 'smtps://u:p@mx.example:2465', true],
  ] as const)
    assert.deepEqual(toConnection(given), { url, requireTLS }, given);
});
