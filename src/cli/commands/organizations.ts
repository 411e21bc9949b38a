import { type Command, InvalidArgumentError, Option } from 'commander';
import {
  ORGANIZATION_GRACE_DAYS,
  ORGANIZATION_ROLES,
  type OrganizationRole,
  TRANSFERRED_THINGS,
  type TransferredThing,
} from '../../contract/organization-roles.ts';
import { parseCredits, parseRowId, parseSpendLimit, type TypedSpendLimit } from '../argument-parsers.ts';
import { formatPeriodAmount, formatSpendLimit, loadCreditFormat, toQuota, toSpendLimit } from '../credit-format.ts';
import { UsageError } from '../errors.ts';
import { dateTime, formatDateTime, formatTable, relativeTime, word } from '../output.ts';
import { reauthenticate } from '../reauthenticate.ts';
import type { RunCommand } from '../run-command.ts';

interface InviteOptions {
  readonly role: OrganizationRole;
  readonly email?: string;
  readonly spendLimit?: TypedSpendLimit | 'none';
}

interface MemberOptions {
  readonly role?: OrganizationRole;
  readonly spendLimit?: TypedSpendLimit | 'none';
}

/** `reelgate orgs …` */
export function addOrganizationCommands(program: Command, run: RunCommand): void {
  const orgs = program
    .command('orgs')
    .description('Organizations you belong to, their members and invitations')
    .addHelpText(
      'after',
      '\nExamples:\n  $ reelgate orgs\n  $ reelgate orgs create acme "Acme Films"\n  $ reelgate orgs invite acme --spend-limit 50/month\n  $ reelgate orgs set acme 7 --role admin\n  $ reelgate --org acme keys',
    );

  orgs
    .command('list', { isDefault: true })
    .description('List them with your role')
    .action((_options: unknown, command: Command) =>
      run(command, async ({ reelgate, output }) => {
        const rows = await reelgate.organizations.list();
        const table = formatTable(
          ['SLUG', 'NAME', 'ROLE', 'CREATED'],
          rows.map(({ slug, name, role, created_time }) => [slug, name, word(role), relativeTime(created_time)]),
        );
        output.list(rows, table, 'You belong to no organization.');
      }),
    );

  orgs
    .command('create')
    .argument('<slug>', 'its short name in URLs and commands')
    .argument('<name>', 'its name')
    .description('Create an organization; you become its owner')
    .action((slug: string, name: string, _options: unknown, command: Command) =>
      run(command, async (session) => {
        const made = await reauthenticate(session, ({ reelgate, headers }) =>
          reelgate.organizations.create(slug, name, { headers }),
        );
        session.output.result(made, `Created ${made.name}. Act for it with "--org ${made.slug}".`);
      }),
    );

  addMemberCommands(orgs, run);
  addInvitationCommands(orgs, run);
  addClosingCommands(orgs, run);
  addTransferCommand(orgs, run);
}

function addClosingCommands(orgs: Command, run: RunCommand): void {
  orgs
    .command('close')
    .argument('<slug>', 'a slug of the list')
    .description(`Close an organization; it is deleted after ${ORGANIZATION_GRACE_DAYS} days unless it is restored`)
    .action((slug: string, _options: unknown, command: Command) =>
      run(command, async (session) => {
        await reauthenticate(session, ({ reelgate, headers }) => reelgate.organizations.close(slug, { headers }));
        session.output.result({ slug, closed: true }, `Closed ${slug}. Undo it with "reelgate orgs restore ${slug}".`);
      }),
    );

  orgs
    .command('restore')
    .argument('<slug>', 'a slug of the list')
    .description('Restore a closed organization')
    .action((slug: string, _options: unknown, command: Command) =>
      run(command, async (session) => {
        const restored = await reauthenticate(session, ({ reelgate, headers }) =>
          reelgate.organizations.restore(slug, { headers }),
        );
        session.output.result(restored, `Restored ${restored.name}.`);
      }),
    );
}

interface TransferOptions {
  readonly include: readonly TransferredThing[];
  readonly credits?: number;
}

function addTransferCommand(orgs: Command, run: RunCommand): void {
  orgs
    .command('transfer')
    .argument('<slug>', 'a slug of the list')
    .addOption(
      new Option('--include <things>', `of ${TRANSFERRED_THINGS.join(',')}, or none`)
        .argParser(parseThings)
        .default(TRANSFERRED_THINGS, 'all'),
    )
    .option('--credits <amount>', 'part of your balance', parseCredits)
    .description('Transfer your own keys, videos, files and webhooks to an organization')
    .action((slug: string, { include, credits }: TransferOptions, command: Command) =>
      run(command, async (session) => {
        const quota = await toQuota(session.reelgate, credits);
        const moved = await reauthenticate(session, ({ reelgate, headers }) =>
          reelgate.organizations.transfer(slug, { include, quota }, { headers }),
        );
        const { keys, videos, files, webhooks } = moved;
        const amount = (await loadCreditFormat(session.reelgate))(moved.quota);
        const line = `Transferred ${keys} keys, ${webhooks} webhooks, ${videos} videos, ${files} files, ${amount}.`;
        session.output.result(moved, moved.status === 'running' ? `${line} More videos and files follow.` : line);
      }),
    );
}

function parseThings(text: string): readonly TransferredThing[] {
  if (text === 'none') return [];
  return text.split(',').map((name) => {
    const thing = TRANSFERRED_THINGS.find((each) => each === name.trim());
    if (thing === undefined) throw new InvalidArgumentError(`Give some of ${TRANSFERRED_THINGS.join(',')}, or none.`);
    return thing;
  });
}

function addMemberCommands(orgs: Command, run: RunCommand): void {
  orgs
    .command('members')
    .argument('<slug>', 'a slug of the list')
    .description('List the members of an organization')
    .action((slug: string, _options: unknown, command: Command) =>
      run(command, async ({ reelgate, output }) => {
        const [rows, credits] = await Promise.all([reelgate.organizations.members(slug), loadCreditFormat(reelgate)]);
        const table = formatTable(
          ['ID', 'USER', 'NAME', 'ROLE', 'JOINED', 'SPEND LIMIT'],
          rows.map((row) => [
            String(row.user_id),
            row.username,
            row.display_name,
            word(row.role),
            relativeTime(row.joined_time),
            row.spend_limit === null ? word('none') : formatSpendLimit(row.spend_limit, credits),
          ]),
        );
        output.list(rows, table, 'No members.');
      }),
    );

  orgs
    .command('set')
    .argument('<slug>', 'a slug of the list')
    .argument('<user-id>', 'an id of the list of members', parseRowId)
    .addOption(roleOption())
    .option(
      '--spend-limit <amount/period>',
      'limit per day, week or month, such as 5000/month, or none',
      parseSpendLimit,
    )
    .description('Change the role or the spend limit of a member')
    .action((slug: string, userId: number, { role, spendLimit }: MemberOptions, command: Command) =>
      run(command, async (session) => {
        if (role === undefined && spendLimit === undefined) throw new UsageError('Give --role or --spend-limit.');
        const change = { role, spendLimit: await toSpendLimit(session.reelgate, spendLimit) };
        await reauthenticate(session, ({ reelgate, headers }) =>
          reelgate.organizations.updateMember(slug, userId, change, { headers }),
        );
        session.output.result({ user_id: userId, ...change }, `Changed member ${userId}.`);
      }),
    );

  orgs
    .command('remove')
    .argument('<slug>', 'a slug of the list')
    .argument('<user-id>', 'an id of the list of members; your own leaves the organization', parseRowId)
    .description('Remove a member; their keys and sign-ins in the organization end at once')
    .action((slug: string, userId: number, _options: unknown, command: Command) =>
      run(command, async (session) => {
        await reauthenticate(session, ({ reelgate, headers }) =>
          reelgate.organizations.removeMember(slug, userId, { headers }),
        );
        session.output.result({ user_id: userId, removed: true }, `Removed member ${userId}.`);
      }),
    );
}

function addInvitationCommands(orgs: Command, run: RunCommand): void {
  orgs
    .command('invite')
    .argument('<slug>', 'a slug of the list')
    .addOption(roleOption().default('member'))
    .option('--email <address>', 'e-mail the link there, if the service sends e-mail')
    .option('--spend-limit <amount/period>', 'limit per day, week or month, such as 5000/month', parseSpendLimit)
    .description('Invite someone by a link that works once')
    .action((slug: string, { role, email, spendLimit }: InviteOptions, command: Command) =>
      run(command, async (session) => {
        const limit = (await toSpendLimit(session.reelgate, spendLimit)) ?? undefined;
        const made = await reauthenticate(session, ({ reelgate, headers }) =>
          reelgate.organizations.invite(slug, { role, email, spendLimit: limit }, { headers }),
        );
        session.output.info(`The link works once, until ${formatDateTime(made.expires_at)}.`);
        session.output.result(made, made.url);
      }),
    );

  orgs
    .command('invitations')
    .argument('<slug>', 'a slug of the list')
    .description('List the open invitations of an organization')
    .action((slug: string, _options: unknown, command: Command) =>
      run(command, async (session) => {
        const rows = await reauthenticate(session, ({ reelgate, headers }) =>
          reelgate.organizations.invitations(slug, { headers }),
        );
        const credits = await loadCreditFormat(session.reelgate);
        const table = formatTable(
          ['ID', 'ROLE', 'EMAIL', 'SPEND LIMIT', 'INVITED BY', 'EXPIRES'],
          rows.map(({ id, role, email, spend_limit: limit, invited_by: inviter, expires_at: end }) => [
            ...[String(id), word(role), email],
            limit === null ? word('none') : formatPeriodAmount(credits(limit.amount), limit.period),
            ...[inviter, dateTime(end)],
          ]),
        );
        session.output.list(rows, table, 'No open invitations.');
      }),
    );

  orgs
    .command('withdraw')
    .argument('<slug>', 'a slug of the list')
    .argument('<id>', 'an id of the list of invitations', parseRowId)
    .description('Revoke an invitation')
    .action((slug: string, id: number, _options: unknown, command: Command) =>
      run(command, async (session) => {
        await reauthenticate(session, ({ reelgate, headers }) =>
          reelgate.organizations.withdraw(slug, id, { headers }),
        );
        session.output.result({ id, withdrawn: true }, `Withdrew invitation ${id}.`);
      }),
    );

  orgs
    .command('join')
    .argument('<token>', 'the link of an invitation, or its part after #')
    .description('Join an organization')
    .action((token: string, _options: unknown, command: Command) =>
      run(command, async (session) => {
        const joined = await reauthenticate(session, ({ reelgate, headers }) =>
          reelgate.organizations.accept(token.slice(token.indexOf('#') + 1), { headers }),
        );
        session.output.result(joined, `Joined ${joined.name}. Act for it with "--org ${joined.slug}".`);
      }),
    );
}

const roleOption = (): Option => new Option('--role <role>', 'the role').choices(ORGANIZATION_ROLES);
