import { Anchor, Badge, Card, Group, List, Select, SimpleGrid, Stack, Table, Text } from '@mantine/core';
import { IconExternalLink } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import {
  type ChannelCondition,
  changeChannel,
  getChannel,
  makeChannel,
  removeChannel,
} from '../../../../contract/channels.ts';
import { DeletePanel } from '../../../components/delete-button.tsx';
import { QueryError } from '../../../components/error-alert.tsx';
import { ModelName } from '../../../components/model-name.tsx';
import { Page, PageLoadingIndicator } from '../../../components/page.tsx';
import { DescriptionList, Panel } from '../../../components/panel.tsx';
import { RelativeTime } from '../../../components/relative-time.tsx';
import { RouteButton, RouteLink, useRouteId } from '../../../components/route-link.tsx';
import { changedFields, useEditedVersion } from '../../../components/save-form.tsx';
import { useToasts } from '../../../components/toasts.tsx';
import {
  type ChannelDetail,
  type ChannelPreset,
  dataQuery,
  toVendorOptions,
  useChannelPresets,
  useInvalidateQueries,
  useVendors,
  type Vendor,
} from '../../../data/admin.ts';
import { callApi } from '../../../data/api-client.ts';
import { formatColon, formatNames } from '../../../data/format-values.ts';
import { currentLanguage } from '../../../strings/language.ts';
import { ChannelForm, useCredentialLabel } from './channel-form.tsx';
import {
  type ChannelFormValues,
  keepsStoredCredentials,
  newChannelFormValues,
  toChannelBody,
  toChannelFormValues,
  toSettingsBody,
} from './channel-form-values.ts';
import { ChannelStatusBadge, toErrorReason } from './channel-status.tsx';
import { ChannelTestPanel } from './channel-test-panel.tsx';
import { CredentialsPanel } from './credentials-panel.tsx';

/** One channel: test, health, credentials and settings. */
export function ChannelPage() {
  const { t } = useTranslation('admin-channels');
  const id = useRouteId();
  const channel = useQuery({ ...dataQuery(getChannel, { params: { id } }), refetchInterval: 15_000 });
  if (channel.data !== undefined) return <ChannelDetails key={channel.data.id} channel={channel.data} />;
  if (channel.error === null) return <PageLoadingIndicator />;
  return (
    <Page title={t('channels.one', { id })} subtitle={<RouteLink to="/admin/channels">{t('channels.all')}</RouteLink>}>
      <QueryError query={channel} />
    </Page>
  );
}

function ChannelDetails({ channel }: { readonly channel: ChannelDetail }) {
  const { t } = useTranslation(['admin-channels', 'app']);
  const invalidate = useInvalidateQueries();
  const toasts = useToasts();
  const vendors = useVendors();
  const vendor = vendors.find(({ name }) => name === channel.vendor);
  const { version, onEdit, onSaved } = useEditedVersion(channel);
  const save = async (draft: ChannelFormValues): Promise<void> => {
    if (vendor === undefined) return;
    const whole = keepsStoredCredentials(draft, vendor) ? toSettingsBody(draft) : toChannelBody(draft, vendor);
    const body = changedFields(whole, toSettingsBody(toChannelFormValues(version, vendor)));
    await callApi(changeChannel, { params: { id: String(channel.id) }, body });
    await invalidate();
    onSaved();
    toasts.success(t('app:saved'));
  };
  return (
    <Page
      title={channel.name}
      subtitle={<RouteLink to="/admin/channels">{t('channels.all')}</RouteLink>}
      actions={<ChannelStatusBadge enabled={channel.enabled} condition={channel.condition} />}
    >
      <SimpleGrid cols={{ base: 1, lg: 2 }} style={{ alignItems: 'start' }}>
        <Stack miw={0}>
          <SummaryPanel channel={channel} vendor={vendor} />
          <Panel title={t('channels.health')}>
            <HealthTable health={channel.health} />
          </Panel>
          <Panel
            title={t('channels.lastErrors')}
            actions={
              <RouteButton to="/admin/tasks" search={{ channel_id: channel.id }} size="compact-sm" variant="default">
                {t('channels.seeTasks')}
              </RouteButton>
            }
          >
            <LastErrors errors={channel.last_errors} />
          </Panel>
        </Stack>
        <Stack miw={0}>
          <Panel title={t('channels.settings')}>
            {vendor === undefined ? (
              <PageLoadingIndicator />
            ) : (
              <ChannelForm
                key={`${version.updated_time} ${version.models.join(' ')}`}
                vendor={vendor}
                initial={toChannelFormValues(version, vendor)}
                isNew={false}
                hasSeveralCredentials={channel.credential_list.length > 1}
                submitLabel={t('app:save')}
                onEdit={onEdit}
                save={save}
              />
            )}
          </Panel>
          {vendor === undefined ? null : <CredentialsPanel channel={channel} vendor={vendor} />}
          <DeleteChannel channel={channel} />
        </Stack>
      </SimpleGrid>
    </Page>
  );
}

interface SummaryPanelProps {
  readonly channel: ChannelDetail;
  /** Undefined while the vendors are loading. */
  readonly vendor: Vendor | undefined;
}

function SummaryPanel({ channel, vendor }: SummaryPanelProps) {
  const { t } = useTranslation('admin-channels');
  const fieldLabel = useCredentialLabel();
  const { test } = useSearch({ strict: false }) as { readonly test?: unknown };
  return (
    <Panel title={t('channels.atAGlance')}>
      <DescriptionList
        facts={[
          [t('channels.vendor'), vendor?.title ?? channel.vendor],
          [
            t('channels.unfinished'),
            channel.unfinished_tasks === 0 ? (
              '0'
            ) : (
              <RouteLink
                key="unfinished"
                to="/admin/tasks"
                search={{ channel_id: channel.id, unfinished: true }}
                size="sm"
              >
                {String(channel.unfinished_tasks)}
              </RouteLink>
            ),
          ],
          [
            t('channels.keysOnFile'),
            (formatNames(channel.credential_keys.map(fieldLabel)) || '–') +
              (channel.credential_list.length > 1 ? ` × ${channel.credential_list.length}` : ''),
          ],
          [t('channels.changed'), <RelativeTime key="changed" at={channel.updated_time} />],
        ]}
      />
      {channel.unserved_models.length === 0 ? null : (
        <Text size="sm" mt="md">
          {t('channels.unserved', { models: formatNames(channel.unserved_models) })}{' '}
          <RouteLink to="/admin/models/new" underline="always">
            {t('models.make')}
          </RouteLink>
        </Text>
      )}
      <Group mt="lg" />
      <ChannelTestPanel id={channel.id} isVideo={vendor?.kind === 'video'} runOnMount={test === true} />
    </Panel>
  );
}

function LastErrors({ errors }: { readonly errors: ChannelDetail['last_errors'] }) {
  const { t } = useTranslation('admin-channels');
  if (errors.length === 0)
    return (
      <Text size="sm" c="dimmed">
        {t('channels.noErrors')}
      </Text>
    );
  return (
    <Table verticalSpacing="xs" horizontalSpacing={4} aria-label={t('channels.lastErrors')}>
      <Table.Tbody>
        {errors.map((error) => (
          <Table.Tr key={`${error.time} ${error.model} ${error.code} ${error.message}`}>
            <Table.Td w={110} style={{ verticalAlign: 'top' }}>
              <RelativeTime at={error.time} size="xs" c="dimmed" />
            </Table.Td>
            <Table.Td style={{ overflowWrap: 'anywhere' }}>
              <Text size="sm" fw={600}>
                {t(`reasons.${toErrorReason(error.reason)}`)}
                {error.model === '' ? null : (
                  <>
                    {' · '}
                    <ModelName id={error.model} />
                  </>
                )}
              </Text>
              <Text size="xs" c="dimmed">
                {[error.code, error.message].filter((each) => each !== '').join(formatColon())}
              </Text>
            </Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  );
}

function DeleteChannel({ channel: { id, name } }: { readonly channel: ChannelDetail }) {
  const { t } = useTranslation('admin-channels');
  return (
    <DeletePanel
      heading={t('channels.remove')}
      title={t('channels.removeTitle', { name })}
      text={t('channels.removeText')}
      confirmLabel={t('channels.removeAction', { name })}
      remove={() => callApi(removeChannel, { params: { id: String(id) } })}
      message={t('channels.removed', { name })}
      listPage="/admin/channels"
    />
  );
}

type Health = ChannelDetail['health'][number];
const FAILING_RATE = 0.5;

/** Recent health of the channel and of each of its models. */
function HealthTable({ health }: { readonly health: ChannelDetail['health'] }) {
  const { t } = useTranslation('admin-channels');
  if (health.length === 0)
    return (
      <Text size="sm" c="dimmed">
        {t('health.none')}
      </Text>
    );
  return (
    <Table verticalSpacing="xs" horizontalSpacing={4} aria-label={t('channels.health')}>
      <Table.Tbody>
        {health.map(({ model, state, reason, failure_rate: rate, rests_until: until }) => (
          <Table.Tr key={model}>
            <Table.Td style={{ overflowWrap: 'anywhere' }}>
              {model === '' ? t('health.whole') : <ModelName id={model} />}
            </Table.Td>
            <Table.Td>
              <ChannelStatusBadge enabled condition={toCondition(state, rate)} />
            </Table.Td>
            <Table.Td ta="right">
              <Badge color={rate > 0.5 ? 'red' : rate > 0 ? 'yellow' : 'gray'} variant="transparent">
                {t('health.rate', { percent: Math.round(rate * 100) })}
              </Badge>
              {state === 'healthy' || reason === '' || reason === 'ok' ? null : (
                <Text size="xs" c="dimmed">
                  {t(`reasons.${toErrorReason(reason)}`)}
                </Text>
              )}
              {until === 0 ? null : (
                <Text size="xs" c="dimmed">
                  {t('health.back')} <RelativeTime at={until} />
                </Text>
              )}
            </Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  );
}

/** Condition of one model: failures count even before there are enough of them to open the circuit breaker. */
function toCondition(state: Health['state'], failureRate: number): ChannelCondition {
  if (state !== 'healthy') return state;
  return failureRate >= FAILING_RATE ? 'failing' : 'working';
}

const PRESET = 'preset:';

/** Adds a channel and opens its page, which tests it immediately. */
export function NewChannelPage() {
  const { t } = useTranslation('admin-channels');
  const vendors = useVendors();
  const presets = useChannelPresets();
  const [choice, setChoice] = useState<string | null>(null);
  const preset = presets.find(({ id }) => choice === PRESET + id);
  const vendor = vendors.find(({ name }) => name === (preset?.dialect ?? choice)) ?? vendors[0];
  const invalidate = useInvalidateQueries();
  const navigate = useNavigate();
  const save = async (draft: ChannelFormValues): Promise<void> => {
    if (vendor === undefined) return;
    const { data } = await callApi(makeChannel, { body: toChannelBody(draft, vendor) });
    await invalidate();
    await navigate({ to: '/admin/channels/$id', params: { id: String(data.id) }, search: { test: true } });
  };
  return (
    <Page
      title={t('channels.make')}
      subtitle={<RouteLink to="/admin/channels">{t('channels.all')}</RouteLink>}
      size="sm"
    >
      <Card p={{ base: 'md', sm: 'xl' }}>
        <Stack>
          <Select
            label={t('channels.vendor')}
            description={t('channels.vendorHint')}
            data={[
              { group: t('presets.video'), items: toVendorOptions(vendors.filter(({ kind }) => kind === 'video')) },
              {
                group: t('presets.chat'),
                items: presets.map((each) => ({ value: PRESET + each.id, label: presetTitle(each) })),
              },
              { group: t('presets.other'), items: toVendorOptions(vendors.filter(({ kind }) => kind === 'chat')) },
            ]}
            value={preset === undefined ? (vendor?.name ?? null) : PRESET + preset.id}
            onChange={setChoice}
            allowDeselect={false}
            searchable
            nothingFoundMessage={t('presets.none')}
            maxDropdownHeight={320}
            required
            withAsterisk={false}
          />
          {preset === undefined ? null : <PresetFacts preset={preset} />}
          {vendor === undefined ? (
            <PageLoadingIndicator />
          ) : (
            <ChannelForm
              key={choice ?? vendor.name}
              vendor={vendor}
              initial={newChannelFormValues(vendor, preset && { ...preset, name: presetTitle(preset) })}
              isNew
              submitLabel={t('channels.saveAndTest')}
              save={save}
            />
          )}
        </Stack>
      </Card>
    </Page>
  );
}

const presetTitle = ({ title, title_zh: titleZh }: ChannelPreset): string =>
  currentLanguage() === 'zh-cn' ? titleZh : title;

/** Where to get keys from a provider, and its particularities. */
function PresetFacts({ preset }: { readonly preset: ChannelPreset }) {
  const { t } = useTranslation('admin-channels');
  return (
    <Stack gap={6}>
      {preset.key_page === '' ? null : (
        <Anchor href={preset.key_page} target="_blank" rel="noreferrer" size="sm" w="fit-content">
          {t('presets.keyPage', { name: presetTitle(preset) })} <IconExternalLink size={13} aria-hidden />
        </Anchor>
      )}
      {preset.deviations.length === 0 ? null : (
        <List size="sm" c="dimmed" spacing={4}>
          {preset.deviations.map((text) => (
            <List.Item key={text.en}>
              <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
                {text[currentLanguage() === 'zh-cn' ? 'zh-CN' : 'en']}
              </Text>
            </List.Item>
          ))}
        </List>
      )}
    </Stack>
  );
}
