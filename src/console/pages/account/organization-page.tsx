import {
  Alert,
  Button,
  Card,
  Checkbox,
  Group,
  Select,
  Skeleton,
  Stack,
  Switch,
  Table,
  Text,
  TextInput,
  Title,
  VisuallyHidden,
} from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate, useParams } from '@tanstack/react-router';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { defined } from '../../../contract/objects.ts';
import {
  canManageMember,
  ORGANIZATION_ROLES,
  type OrganizationRole,
  TRANSFERRED_THINGS,
  type TransferredThing,
} from '../../../contract/organization-roles.ts';
import * as endpoints from '../../../contract/organizations.ts';
import { createTransfer } from '../../../contract/organizations.ts';
import { CopyField } from '../../components/copy-button.tsx';
import { useAmountUnit, useFormatCredits } from '../../components/credit-amount.tsx';
import { ConfirmDialog, FormDialog, OneTimeSecretDialog } from '../../components/dialog.tsx';
import { ErrorAlert, QueryError } from '../../components/error-alert.tsx';
import { AmountInput, SpendLimitFields, SpendLimitText } from '../../components/limit-fields.tsx';
import { Page } from '../../components/page.tsx';
import { Pager } from '../../components/pager.tsx';
import { useToasts } from '../../components/toasts.tsx';
import {
  type Invitation,
  invitationsQuery,
  type Member,
  membersQuery,
  ORGANIZATION_PAGE_SIZE,
  type Organization,
  organizationQuery,
  type Transfer,
} from '../../data/account-queries.ts';
import { callApi } from '../../data/api-client.ts';
import { enterOrganization, readOrganization, readUserId } from '../../data/browser-storage.ts';
import { creditsToQuota, toSpendLimitBody, toSpendLimitDraft } from '../../data/field-values.ts';
import { formatDate } from '../../data/format-values.ts';

/** Members, invitations and settings of an organization. */
export function OrganizationPage() {
  const { slug } = useParams({ from: '/app/account/organizations/$slug' });
  const { t } = useTranslation('organizations');
  const organization = useQuery(organizationQuery(slug));
  const { data } = organization;
  return (
    <Page title={data?.name ?? slug} subtitle={data === undefined ? undefined : t(`role.${data.role}`)}>
      <QueryError query={organization} />
      {data === undefined ? (
        <Skeleton h={200} radius="lg" />
      ) : (
        <Stack gap="lg">
          {data.deletes_at === null ? null : <ClosedNote organization={data} deletesAt={data.deletes_at} />}
          <Members organization={data} />
          {data.role === 'member' || data.deletes_at !== null ? null : (
            <>
              <Invitations organization={data} />
              <TransferCard organization={data} />
            </>
          )}
          {data.deletes_at === null ? <Settings organization={data} /> : null}
        </Stack>
      )}
    </Page>
  );
}

interface OfOrganization {
  readonly organization: Organization;
}

/** Reloads everything shown of organizations. */
function useRefresh(): () => Promise<void> {
  const queries = useQueryClient();
  return () => queries.invalidateQueries({ queryKey: ['organizations'] });
}

/** Says when a closed organization is deleted; owners can restore it until then. */
function ClosedNote({ organization, deletesAt }: OfOrganization & { readonly deletesAt: number }) {
  const { t } = useTranslation('organizations');
  const refresh = useRefresh();
  const { slug, role } = organization;
  const restore = useMutation({
    mutationFn: () => callApi(endpoints.restoreOrganization, { params: { slug }, body: {} }),
    onSuccess: refresh,
  });
  return (
    <Alert color="yellow" title={t('closed')}>
      <ErrorAlert error={restore.error} />
      <Stack gap="sm" align="flex-start">
        <Text size="sm">{t('closedText', { date: formatDate(deletesAt) })}</Text>
        {role === 'owner' ? (
          <Button size="compact-sm" loading={restore.isPending} onClick={() => restore.mutate()}>
            {t('restore')}
          </Button>
        ) : null}
      </Stack>
    </Alert>
  );
}

function Members({ organization }: OfOrganization) {
  const { t } = useTranslation('organizations');
  const [page, setPage] = useState(1);
  const members = useQuery(membersQuery(organization.slug, page));
  return (
    <Card p="lg">
      <Title order={2} mb="sm">
        {t('members')}
      </Title>
      <QueryError query={members} />
      <Table.ScrollContainer minWidth={520}>
        <Table>
          <Table.Thead>
            <Table.Tr>
              <Table.Th>{t('member')}</Table.Th>
              <Table.Th>{t('roleLabel')}</Table.Th>
              <Table.Th>{t('limit')}</Table.Th>
              <Table.Th>
                <VisuallyHidden>{t('change')}</VisuallyHidden>
              </Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {(members.data?.data ?? []).map((member) => (
              <MemberRow key={member.user_id} organization={organization} member={member} />
            ))}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
      <Pager page={page} total={members.data?.total ?? 0} pageSize={ORGANIZATION_PAGE_SIZE} onChange={setPage} />
    </Card>
  );
}

function MemberRow({ organization, member }: OfOrganization & { readonly member: Member }) {
  const { t } = useTranslation('organizations');
  const refresh = useRefresh();
  const navigate = useNavigate();
  const [isEditing, setEditing] = useState(false);
  const isSelf = member.user_id === readUserId();
  const isManaged = canManageMember(organization.role, member.role);
  const name = member.display_name || member.username;
  const remove = async (): Promise<void> => {
    const params = { slug: organization.slug, user_id: String(member.user_id) };
    await callApi(endpoints.removeMember, { params });
    if (isSelf && readOrganization() === organization.slug) return enterOrganization(undefined);
    await refresh();
    if (isSelf) await navigate({ to: '/account/organizations' });
  };
  return (
    <Table.Tr>
      <Table.Td>
        {name}{' '}
        <Text component="span" size="sm" c="dimmed">
          {member.username}
        </Text>
      </Table.Td>
      <Table.Td>{t(`role.${member.role}`)}</Table.Td>
      <Table.Td>{member.spend_limit === null ? t('noLimit') : <SpendLimitText limit={member.spend_limit} />}</Table.Td>
      <Table.Td>
        <Group gap="xs" justify="flex-end" wrap="nowrap">
          {isManaged ? (
            <Button size="compact-sm" variant="default" onClick={() => setEditing(true)}>
              {t('change')}
            </Button>
          ) : null}
          {isManaged || isSelf ? (
            <ConfirmDialog
              title={t('removeTitle', { name })}
              confirmLabel={isSelf ? t('leave') : t('remove')}
              onConfirm={remove}
              trigger={(open) => (
                <Button size="compact-sm" variant="light" color="red" onClick={open}>
                  {isSelf ? t('leave') : t('remove')}
                </Button>
              )}
            >
              {t('removeText')}
            </ConfirmDialog>
          ) : null}
        </Group>
        {isEditing ? (
          <MemberDialog organization={organization} member={member} name={name} onClose={() => setEditing(false)} />
        ) : null}
      </Table.Td>
    </Table.Tr>
  );
}

/** Form values of a spend limit, and the limit as the API takes it. */
function useLimit(start: Member['spend_limit']) {
  const { quotaPerCredit } = useAmountUnit();
  const [draft, setDraft] = useState(toSpendLimitDraft(start, quotaPerCredit));
  return { body: toSpendLimitBody(draft, quotaPerCredit), fields: { value: draft, onChange: setDraft } };
}

interface RoleSelectProps {
  readonly own: OrganizationRole;
  readonly value: OrganizationRole;
  readonly onChange: (role: OrganizationRole) => void;
}

function RoleSelect({ own, value, onChange }: RoleSelectProps) {
  const { t } = useTranslation('organizations');
  return (
    <Select
      label={t('roleLabel')}
      allowDeselect={false}
      value={value}
      data={ORGANIZATION_ROLES.filter((role) => canManageMember(own, role)).map((role) => ({
        value: role,
        label: t(`role.${role}`),
      }))}
      onChange={(role) => onChange((role ?? 'member') as OrganizationRole)}
    />
  );
}

interface MemberDialogProps extends OfOrganization {
  readonly member: Member;
  readonly name: string;
  readonly onClose: () => void;
}

function MemberDialog({ organization, member, name, onClose }: MemberDialogProps) {
  const { t } = useTranslation(['organizations', 'app']);
  const refresh = useRefresh();
  const toasts = useToasts();
  const [role, setRole] = useState(member.role);
  const { body, fields } = useLimit(member.spend_limit);
  const save = useMutation({
    mutationFn: () =>
      callApi(endpoints.updateMember, {
        params: { slug: organization.slug, user_id: String(member.user_id) },
        body: defined({ role: role === member.role ? undefined : role, spend_limit: body }),
      }),
    onSuccess: async () => {
      await refresh();
      toasts.success(t('app:saved'));
      onClose();
    },
  });
  return (
    <FormDialog title={t('changeTitle', { name })} submitLabel={t('app:save')} save={save} onClose={onClose}>
      <RoleSelect own={organization.role} value={role} onChange={setRole} />
      <SpendLimitFields description={t('limitHint')} {...fields} />
    </FormDialog>
  );
}

function Invitations({ organization }: OfOrganization) {
  const { t } = useTranslation(['organizations', 'app']);
  const { slug } = organization;
  const refresh = useRefresh();
  const credits = useFormatCredits();
  const [page, setPage] = useState(1);
  const invitations = useQuery(invitationsQuery(slug, page));
  const [isInviting, setInviting] = useState(false);
  const [link, setLink] = useState<string>();
  const withdraw = useMutation({
    mutationFn: (id: number) => callApi(endpoints.deleteInvitation, { params: { slug, id: String(id) } }),
    onSettled: refresh,
  });
  const describe = ({ role, email, spend_limit: limit, invited_by: inviter, expires_at: end }: Invitation): string =>
    [
      t(`role.${role}`),
      email,
      limit === null ? '' : `${credits(limit.amount)} ${t(`app:spendLimit.periods.${limit.period}`)}`,
      inviter === '' ? '' : t('invitedBy', { name: inviter }),
      `${t('expires')} ${formatDate(end)}`,
    ]
      .filter((part) => part !== '')
      .join(' · ');
  return (
    <Card p="lg">
      <Group justify="space-between" mb="sm">
        <Title order={2}>{t('invitations')}</Title>
        <Button onClick={() => setInviting(true)}>{t('invite')}</Button>
      </Group>
      <ErrorAlert error={invitations.error ?? withdraw.error} retry={() => void invitations.refetch()} />
      <Stack gap="xs">
        {(invitations.data?.data ?? []).map((invitation) => (
          <Group key={invitation.id} justify="space-between">
            <Text size="sm">{describe(invitation)}</Text>
            <Button
              size="compact-sm"
              variant="default"
              loading={withdraw.isPending && withdraw.variables === invitation.id}
              onClick={() => withdraw.mutate(invitation.id)}
            >
              {t('withdraw')}
            </Button>
          </Group>
        ))}
      </Stack>
      <Pager page={page} total={invitations.data?.total ?? 0} pageSize={ORGANIZATION_PAGE_SIZE} onChange={setPage} />
      {isInviting ? (
        <InviteDialog
          organization={organization}
          onInvited={(url) => {
            setLink(url);
            setInviting(false);
          }}
          onClose={() => setInviting(false)}
        />
      ) : null}
      {link === undefined ? null : (
        <OneTimeSecretDialog title={t('linkTitle')} onClose={() => setLink(undefined)}>
          <Stack>
            <Text size="sm">{t('linkText')}</Text>
            <CopyField text={link} focused />
          </Stack>
        </OneTimeSecretDialog>
      )}
    </Card>
  );
}

interface InviteDialogProps extends OfOrganization {
  readonly onInvited: (url: string) => void;
  readonly onClose: () => void;
}

function InviteDialog({ organization, onInvited, onClose }: InviteDialogProps) {
  const { t } = useTranslation('organizations');
  const refresh = useRefresh();
  const [role, setRole] = useState<OrganizationRole>('member');
  const [email, setEmail] = useState('');
  const { body, fields } = useLimit(null);
  const save = useMutation({
    mutationFn: async () =>
      (
        await callApi(endpoints.createInvitation, {
          params: { slug: organization.slug },
          body: defined({ role, spend_limit: body, email: email || undefined }),
        })
      ).data,
    onSuccess: async ({ url }) => {
      await refresh();
      onInvited(url);
    },
  });
  return (
    <FormDialog title={t('inviteTitle')} submitLabel={t('invite')} save={save} onClose={onClose}>
      <RoleSelect own={organization.role} value={role} onChange={setRole} />
      <TextInput
        label={t('email')}
        type="email"
        maxLength={254}
        value={email}
        onChange={(event) => setEmail(event.currentTarget.value)}
      />
      <SpendLimitFields description={t('limitHint')} {...fields} />
    </FormDialog>
  );
}

function Settings({ organization }: OfOrganization) {
  const { t } = useTranslation('organizations');
  const { slug, name, role, prompts_visible_to_admins: isVisible } = organization;
  const refresh = useRefresh();
  const navigate = useNavigate();
  const show = useMutation({
    mutationFn: (visible: boolean) =>
      callApi(endpoints.updateOrganization, { params: { slug }, body: { prompts_visible_to_admins: visible } }),
    onSuccess: refresh,
  });
  const remove = async (): Promise<void> => {
    await callApi(endpoints.deleteOrganization, { params: { slug } });
    if (readOrganization() === slug) return enterOrganization(undefined);
    await navigate({ to: '/account/organizations' });
    await refresh();
  };
  if (role !== 'owner') return <Text size="sm">{isVisible ? t('promptsShown') : t('promptsHidden')}</Text>;
  return (
    <Card p="lg">
      <Title order={2} mb="sm">
        {t('settings')}
      </Title>
      <ErrorAlert error={show.error} />
      <Stack align="flex-start">
        <Switch
          label={t('promptsVisible')}
          description={t('promptsHint')}
          checked={isVisible}
          disabled={show.isPending}
          onChange={(event) => show.mutate(event.currentTarget.checked)}
        />
        <ConfirmDialog
          title={t('deleteTitle', { name })}
          confirmLabel={t('delete')}
          onConfirm={remove}
          trigger={(open) => (
            <Button variant="light" color="red" onClick={open}>
              {t('delete')}
            </Button>
          )}
        >
          {t('deleteText')}
        </ConfirmDialog>
      </Stack>
    </Card>
  );
}

/** Hands over what the person owns to an organization. */
function TransferCard({ organization }: { readonly organization: Organization }) {
  const { t } = useTranslation('organizations');
  const [isOpen, setOpen] = useState(false);
  return (
    <Card p="lg">
      <Title order={2} mb="sm">
        {t('transfer.title')}
      </Title>
      <Stack align="flex-start">
        <Text size="sm">{t('transfer.text')}</Text>
        <Button variant="default" onClick={() => setOpen(true)}>
          {t('transfer.action')}
        </Button>
      </Stack>
      {isOpen ? <TransferDialog organization={organization} onClose={() => setOpen(false)} /> : null}
    </Card>
  );
}

interface TransferDialogProps {
  readonly organization: Organization;
  readonly onClose: () => void;
}

function TransferDialog({ organization: { slug, name }, onClose }: TransferDialogProps) {
  const { t } = useTranslation('organizations');
  const toasts = useToasts();
  const queries = useQueryClient();
  const { quotaPerCredit } = useAmountUnit();
  const [include, setInclude] = useState<readonly TransferredThing[]>(TRANSFERRED_THINGS);
  const [credits, setCredits] = useState<number | string>('');
  const quota = creditsToQuota(Number(credits), quotaPerCredit);
  const save = useMutation({
    mutationFn: async (): Promise<Transfer> =>
      (await callApi(createTransfer, { params: { slug }, body: { include: [...include], quota } })).data,
    onSuccess: async ({ keys, videos, files, webhooks, status }) => {
      await queries.invalidateQueries();
      toasts.success(t(status === 'running' ? 'transfer.running' : 'transfer.done', { keys, videos, files, webhooks }));
      onClose();
    },
  });
  return (
    <FormDialog
      title={t('transfer.dialog', { name })}
      submitLabel={t('transfer.submit')}
      save={save}
      onClose={onClose}
      disabled={include.length === 0 && quota === 0}
    >
      <Text size="sm">{t('transfer.hint')}</Text>
      {TRANSFERRED_THINGS.map((thing) => (
        <Checkbox
          key={thing}
          label={t(`transfer.things.${thing}`)}
          checked={include.includes(thing)}
          onChange={({ currentTarget: { checked } }) =>
            setInclude(TRANSFERRED_THINGS.filter((each) => (each === thing ? checked : include.includes(each))))
          }
        />
      ))}
      <AmountInput label={t('transfer.amount')} max={1e9} value={credits} onChange={setCredits} />
    </FormDialog>
  );
}
