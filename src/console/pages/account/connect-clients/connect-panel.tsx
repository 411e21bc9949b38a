import { Alert, Button, Code, Group, Loader, NativeSelect, Stack, Tabs, Text } from '@mantine/core';
import { IconCheck, IconExternalLink, IconPlugConnected } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { Fragment, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { API_KEY_PLACEHOLDER } from '../../../components/code-samples.ts';
import { CopyField, CopyIconButton } from '../../../components/copy-button.tsx';
import { Dialog } from '../../../components/dialog.tsx';
import { formatRelativeTime } from '../../../data/format-values.ts';
import { type ApiKey, apiKeysQuery } from '../../../data/keys.ts';
import { usableModelsQuery, useSiteName, useStatus } from '../../../data/self.ts';
import { initialModel } from '../../studio/models.ts';
import { CLIENTS, type Client, type ClientId, type SampleValues } from './clients.ts';

const MODEL_PLACEHOLDER = 'gpt-4o-mini';
const VIDEO_MODEL_PLACEHOLDER = 'kling-v3';

const GROUPS = ['video', 'chat'] as const;
const clientsOf = (group: (typeof GROUPS)[number]): readonly (Client & { readonly id: ClientId })[] =>
  CLIENTS.filter((client: Client) => (client.group ?? 'chat') === group);

interface ConnectPanelProps {
  readonly tokenId: number;
  /** Page of the key list that contains the key. */
  readonly page: number;
  /** Only known right after the key was created. */
  readonly apiKey?: string;
  /** Models the key is limited to; empty: all. */
  readonly allowedModels: readonly string[];
}

/**
 * Setup instructions for each client, with base URL, key and model filled in, and a test that waits for the first call.
 */
export function ConnectPanel({ tokenId, page, apiKey, allowedModels }: ConnectPanelProps) {
  const { t } = useTranslation('account');
  const [clientId, setClientId] = useState<ClientId>('videoCurl');
  const siteName = useSiteName();
  const { data: status } = useStatus();
  const models = useQuery(usableModelsQuery);
  const usable = (models.data ?? []).filter(
    ({ id, permitted }) => permitted && (allowedModels.length === 0 || allowedModels.includes(id)),
  );
  const chatModel = usable.find(({ kind }) => kind === 'chat');
  const client: Client | undefined = CLIENTS.find(({ id }) => id === clientId);
  const connection: SampleValues = {
    origin: location.origin,
    apiKey: apiKey ?? API_KEY_PLACEHOLDER,
    model: chatModel?.id ?? MODEL_PLACEHOLDER,
    videoModel: initialModel(usable, status?.default_video_model)?.id ?? VIDEO_MODEL_PLACEHOLDER,
    siteName,
    version: status?.version ?? 'X.Y.Z',
  };
  const select = (id: string | null): void => setClientId(CLIENTS.find((each) => each.id === id)?.id ?? 'videoCurl');
  return (
    <Stack gap="md">
      {apiKey === undefined ? (
        <Alert color="gray">{t('connect.keyHidden')}</Alert>
      ) : (
        <Alert color="yellow" variant="light" title={t('connect.copyNow')}>
          <CopyField text={apiKey} focused />
        </Alert>
      )}
      <NativeSelect
        hiddenFrom="sm"
        label={t('connect.client')}
        value={clientId}
        onChange={(event) => select(event.currentTarget.value)}
        data={GROUPS.map((group) => ({
          group: t(`connect.groups.${group}`),
          items: clientsOf(group).map(({ id, title }) => ({ value: id, label: title })),
        }))}
      />
      <Tabs
        value={clientId}
        onChange={select}
        orientation="vertical"
        keepMounted={false}
        styles={{ tabLabel: { textAlign: 'start' } }}
      >
        <Tabs.List visibleFrom="sm" aria-label={t('connect.client')}>
          {GROUPS.map((group) => (
            <Fragment key={group}>
              <Text role="presentation" size="xs" c="dimmed" fw={600} px="md" pt={group === 'chat' ? 'sm' : 0} pb={4}>
                {t(`connect.groups.${group}`)}
              </Text>
              {clientsOf(group).map(({ id, title }) => (
                <Tabs.Tab key={id} value={id} py={6}>
                  {title}
                </Tabs.Tab>
              ))}
            </Fragment>
          ))}
        </Tabs.List>
        {CLIENTS.map((client) => (
          <Tabs.Panel key={client.id} value={client.id} pl={{ base: 0, sm: 'md' }} miw={0}>
            <ClientGuide
              client={client}
              hint={t(`connect.hints.${client.id}`)}
              connection={connection}
              isComplete={apiKey !== undefined}
            />
          </Tabs.Panel>
        ))}
      </Tabs>
      {models.data !== undefined && chatModel === undefined && client?.group !== 'video' ? (
        <Text size="xs" c="dimmed">
          {t('connect.noModel', { model: MODEL_PLACEHOLDER })}
        </Text>
      ) : null}
      <WaitForFirstCall tokenId={tokenId} page={page} />
    </Stack>
  );
}

interface ClientGuideProps {
  readonly client: Client;
  readonly hint: string;
  readonly connection: SampleValues;
  /** Whether the key is known, so that a deep link can contain it. */
  readonly isComplete: boolean;
}

function ClientGuide({ client, hint, connection, isComplete }: ClientGuideProps) {
  const { t } = useTranslation('account');
  return (
    <Stack gap="sm">
      <Text size="sm">{hint}</Text>
      {client.link !== undefined && isComplete ? (
        <Group gap="sm">
          <Button component="a" href={client.link(connection)} leftSection={<IconExternalLink size={16} />}>
            {t('connect.openIn', { client: client.title })}
          </Button>
          <Text size="xs" c="dimmed">
            {t('connect.opensApp')}
          </Text>
        </Group>
      ) : null}
      {client.samples(connection).map(({ file, text }) => (
        <div key={text}>
          <Text size="xs" c="dimmed" mb={2}>
            {file ?? (text.includes(' ') ? t('connect.terminal') : '')}
          </Text>
          <Group gap={4} wrap="nowrap" align="flex-start">
            <Code block flex={1} miw={0} tabIndex={0}>
              {text}
            </Code>
            <CopyIconButton text={text} />
          </Group>
        </div>
      ))}
    </Stack>
  );
}

const POLL_MS = 2_000;
const PATIENCE_MS = 180_000;

interface Wait {
  readonly startedAt: number;
  /** Last use of the key when the wait started. */
  readonly usedBefore: number | null;
}

interface FirstCallProps {
  readonly tokenId: number;
  readonly page: number;
}

/** Waits for the first call with this key. The service records the use of a key within ten seconds. */
function WaitForFirstCall(props: FirstCallProps) {
  const [wait, setWait] = useState<Wait>();
  const region = useRef<HTMLDivElement>(null);
  // The pressed button disappears: its place keeps the focus.
  const change = (next: Wait | undefined): void => {
    region.current?.focus();
    setWait(next);
  };
  return (
    <div ref={region} tabIndex={-1}>
      <FirstCallState {...props} wait={wait} setWait={change} />
    </div>
  );
}

interface FirstCallStateProps extends FirstCallProps {
  readonly wait: Wait | undefined;
  readonly setWait: (wait: Wait | undefined) => void;
}

function FirstCallState({ tokenId, page, wait, setWait }: FirstCallStateProps) {
  const { t } = useTranslation('account');
  const keys = useQuery({
    ...apiKeysQuery(page),
    refetchInterval: ({ state }) =>
      wait === undefined || isOver(wait, lastUse(state.data?.data, tokenId)) ? false : POLL_MS,
  });
  const usedAt = lastUse(keys.data?.data, tokenId);
  const start = (): void => setWait({ startedAt: Date.now(), usedBefore: usedAt });
  if (wait === undefined)
    return (
      <Group>
        <Button variant="default" leftSection={<IconPlugConnected size={16} />} onClick={start}>
          {t('connect.test')}
        </Button>
      </Group>
    );
  if (usedAt !== null && hasCome(wait, usedAt))
    return (
      <Alert color="teal" icon={<IconCheck />} role="status">
        {t('connect.came', { when: formatRelativeTime(usedAt) })}
      </Alert>
    );
  if (keys.dataUpdatedAt - wait.startedAt >= PATIENCE_MS - POLL_MS)
    return (
      <Alert color="yellow" role="status">
        <Text size="sm">{t('connect.noCall')}</Text>
        <Button mt="xs" size="compact-sm" variant="default" onClick={start}>
          {t('connect.test')}
        </Button>
      </Alert>
    );
  return (
    <Group gap="sm" role="status" wrap="nowrap">
      <Loader size="xs" />
      <Text size="sm" flex={1}>
        {t('connect.waiting')}
      </Text>
      <Button size="compact-sm" variant="subtle" onClick={() => setWait(undefined)}>
        {t('connect.stop')}
      </Button>
    </Group>
  );
}

const lastUse = (keys: readonly ApiKey[] | undefined, tokenId: number): number | null =>
  keys?.find(({ id }) => id === tokenId)?.last_used_time ?? null;

const isOver = (wait: Wait, usedAt: number | null): boolean =>
  hasCome(wait, usedAt) || Date.now() - wait.startedAt >= PATIENCE_MS;

const hasCome = ({ usedBefore }: Wait, usedAt: number | null): boolean => usedAt !== null && usedAt !== usedBefore;

interface ConnectDialogProps {
  readonly apiKey: ApiKey;
  /** Page of the key list that contains the key. */
  readonly page: number;
  readonly onClose: () => void;
}

/** Setup instructions for an existing API key, whose secret can no longer be shown. */
export function ConnectDialog({ apiKey, page, onClose }: ConnectDialogProps) {
  const { t } = useTranslation('account');
  return (
    <Dialog onClose={onClose} title={t('connect.title', { name: apiKey.name })} size="xl">
      <ConnectPanel tokenId={apiKey.id} page={page} allowedModels={apiKey.models} />
    </Dialog>
  );
}
