import {
  Alert,
  Button,
  Checkbox,
  Code,
  Group,
  PasswordInput,
  Skeleton,
  Stack,
  Text,
  Textarea,
  TextInput,
} from '@mantine/core';
import { IconTerminal2 } from '@tabler/icons-react';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import {
  adminEndClaudeCode,
  adminListClaudeCode,
  CLAUDE_CODE_PATH,
  type ClaudeCodePolicy,
  getClaudeCodePolicy,
  updateClaudeCodePolicy,
} from '../../../../contract/claude-code.ts';
import { CopyField } from '../../../components/copy-button.tsx';
import { PagedTable } from '../../../components/data-table.tsx';
import { DeleteButton } from '../../../components/delete-button.tsx';
import { FormDialog } from '../../../components/dialog.tsx';
import { ErrorAlert, QueryError } from '../../../components/error-alert.tsx';
import { useListFilters } from '../../../components/list/use-list-filters.ts';
import { EmptyState, Page } from '../../../components/page.tsx';
import { SettingsSection } from '../../../components/panel.tsx';
import { RelativeTime } from '../../../components/relative-time.tsx';
import { RouteLink } from '../../../components/route-link.tsx';
import { useToasts } from '../../../components/toasts.tsx';
import { dataQuery, listQuery, useInvalidateQueries } from '../../../data/admin.ts';
import { callApi } from '../../../data/api-client.ts';
import { formatAside } from '../../../data/format-values.ts';
import { useSelf } from '../../../data/self.ts';

/** Claude Code: how to connect it, who is signed in, and the settings it receives. */
export function ClaudeCodePage() {
  const { t } = useTranslation(['admin', 'app']);
  const self = useSelf();
  return (
    <Page title={t('app:pages.claudeCode')} subtitle={t('claudeCode.lead')}>
      <Stack gap="lg">
        <SettingsSection title={t('claudeCode.connect')} subtitle={t('claudeCode.connectHint')}>
          <CopyField text={toClientSettings()} />
        </SettingsSection>
        <SignIns />
        {self.data?.role === 'root' ? <PolicySection /> : null}
      </Stack>
    </Page>
  );
}

/** The managed-settings.json that makes Claude Code offer this service. */
const toClientSettings = (): string =>
  JSON.stringify({ forceLoginMethod: 'gateway', forceLoginGatewayUrl: `${window.location.origin}${CLAUDE_CODE_PATH}` });

function SignIns() {
  const { t } = useTranslation(['admin', 'app']);
  const filters = useListFilters([], []);
  const signIns = useQuery(listQuery(adminListClaudeCode, filters.query));
  return (
    <PagedTable
      label={t('claudeCode.signIns')}
      query={signIns}
      filters={filters}
      rowKey={({ id }) => id}
      emptyState={
        <EmptyState icon={<IconTerminal2 size={28} />} title={t('claudeCode.emptyTitle')}>
          {t('claudeCode.emptyText')}
        </EmptyState>
      }
      columns={[
        {
          label: t('claudeCode.user'),
          cell: ({ user_id: id, username }) => (
            <RouteLink to="/admin/users/$id" params={{ id: String(id) }} size="sm">
              {username}
            </RouteLink>
          ),
        },
        {
          label: t('claudeCode.program'),
          cell: ({ name, program }) => (
            <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
              {name === '' ? program : formatAside(name, program)}
            </Text>
          ),
        },
        {
          label: t('claudeCode.since'),
          cell: ({ created_time: at }) => <RelativeTime at={at} size="sm" />,
          hideOnPhone: true,
        },
        {
          label: t('claudeCode.lastUsed'),
          cell: ({ last_used_time: at, last_used_address: address }) => (
            <>
              <RelativeTime at={at} size="sm" />
              <Text size="xs" c="dimmed">
                {address}
              </Text>
            </>
          ),
        },
        {
          label: t('claudeCode.end'),
          align: 'right',
          cell: ({ id, username }) => (
            <DeleteButton
              label={t('claudeCode.end')}
              title={t('claudeCode.endTitle', { name: username })}
              text={t('claudeCode.endText')}
              confirmLabel={t('claudeCode.end')}
              remove={() => callApi(adminEndClaudeCode, { params: { id: String(id) } })}
              message={t('claudeCode.ended', { name: username })}
            />
          ),
        },
      ]}
    />
  );
}

function PolicySection() {
  const { t } = useTranslation(['admin', 'app']);
  const policy = useQuery(dataQuery(getClaudeCodePolicy, {}));
  return (
    <SettingsSection title={t('claudeCode.policy')} subtitle={t('claudeCode.policyHint')}>
      <QueryError query={policy} />
      {policy.data === undefined ? (
        <Skeleton h={160} />
      ) : (
        <PolicyForm key={policy.data.checksum} policy={policy.data} />
      )}
    </SettingsSection>
  );
}

function PolicyForm({ policy }: { readonly policy: ClaudeCodePolicy }) {
  const { t } = useTranslation(['admin', 'app']);
  const invalidate = useInvalidateQueries();
  const toasts = useToasts();
  const before = policy.value === null ? '' : JSON.stringify(policy.value, null, 2);
  const [text, setText] = useState(before);
  const [confirming, setConfirming] = useState(false);
  const save = useMutation({
    mutationFn: (proof: Proof) => callApi(updateClaudeCodePolicy, { body: { value: text, ...proof } }),
    onSuccess: async () => {
      setConfirming(false);
      toasts.success(t('claudeCode.saved'));
      await invalidate();
    },
  });
  return (
    <Stack>
      <Textarea
        label={t('claudeCode.json')}
        autosize
        minRows={4}
        spellCheck={false}
        styles={{ input: { fontFamily: 'var(--mantine-font-family-monospace)' } }}
        value={text}
        onChange={(event) => setText(event.currentTarget.value)}
      />
      {policy.sensitive.length === 0 ? null : (
        <Alert color="yellow" variant="light" title={t('claudeCode.sensitive')}>
          <Group gap={6}>
            {policy.sensitive.map((key) => (
              <Code key={key}>{key}</Code>
            ))}
          </Group>
        </Alert>
      )}
      <ErrorAlert error={confirming ? undefined : save.error} />
      <Group>
        <Button disabled={text === before} loading={save.isPending && !confirming} onClick={() => save.mutate({})}>
          {t('claudeCode.save')}
        </Button>
        <Button variant="default" disabled={text === before} onClick={() => setConfirming(true)}>
          {t('claudeCode.saveSensitive')}
        </Button>
      </Group>
      {confirming ? <ConfirmPolicyDialog save={save} onClose={() => setConfirming(false)} /> : null}
    </Stack>
  );
}

/** Proof of root's intent for settings that can run programs. */
interface Proof {
  readonly confirm?: true;
  readonly password?: string;
  readonly code?: string;
}

interface ConfirmPolicyProps {
  readonly save: {
    readonly isPending: boolean;
    readonly error: Error | null;
    readonly mutate: (proof: Proof) => void;
  };
  readonly onClose: () => void;
}

function ConfirmPolicyDialog({ save, onClose }: ConfirmPolicyProps) {
  const { t } = useTranslation(['admin', 'app']);
  const [understood, setUnderstood] = useState(false);
  const [password, setPassword] = useState('');
  const [code, setCode] = useState('');
  const proof: Proof = { confirm: true, ...(code === '' ? { password } : { code }) };
  return (
    <FormDialog
      title={t('claudeCode.confirmTitle')}
      submitLabel={t('claudeCode.save')}
      save={{ ...save, mutate: () => save.mutate(proof) }}
      disabled={!understood || (password === '' && code === '')}
      onClose={onClose}
    >
      <Text size="sm">{t('claudeCode.confirmText')}</Text>
      <PasswordInput
        label={t('claudeCode.password')}
        autoComplete="current-password"
        value={password}
        onChange={(event) => setPassword(event.currentTarget.value)}
      />
      <TextInput
        label={t('claudeCode.code')}
        autoComplete="one-time-code"
        value={code}
        onChange={(event) => setCode(event.currentTarget.value)}
      />
      <Checkbox
        label={t('claudeCode.understood')}
        checked={understood}
        onChange={(event) => setUnderstood(event.currentTarget.checked)}
      />
    </FormDialog>
  );
}
