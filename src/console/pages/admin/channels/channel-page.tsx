import { Code, Group, SimpleGrid, Stack, Table, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useSearch } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import { changeChannel, getChannel } from '../../../../contract/channels.ts';
import { type DataOf, dataQuery, useRefresh } from '../../../data/admin.ts';
import { call } from '../../../data/client.ts';
import { Failure } from '../../../parts/failure.tsx';
import { Moment } from '../../../parts/moment.tsx';
import { useNotices } from '../../../parts/notices.tsx';
import { Page } from '../../../parts/page.tsx';
import { PageLoader } from '../../../parts/page-loader.tsx';
import { Facts, Panel } from '../frame/facts.tsx';
import { ToButton, ToLink } from '../frame/to-link.tsx';
import { useId } from '../frame/use-id.ts';
import { type ChannelDraft, keepsCredentials, toBody, toDraft, toSettings } from './channel-draft.ts';
import { ChannelForm } from './channel-form.tsx';
import { ChannelState } from './channel-state.tsx';
import { HealthTable } from './health-table.tsx';
import { toReason } from './reasons.ts';
import { RemoveChannel } from './remove-channel.tsx';
import { TestPanel } from './test-panel.tsx';
import { vendorTitle } from './vendors.ts';

export type ChannelDetail = DataOf<typeof getChannel>;

export function ChannelPage() {
  const { t } = useTranslation('upstreams');
  const id = useId();
  const channel = useQuery({ ...dataQuery(getChannel, { params: { id } }), refetchInterval: 15_000 });
  if (channel.data !== undefined) return <Known key={channel.data.id} channel={channel.data} />;
  if (channel.error === null) return <PageLoader />;
  return (
    <Page title={t('channels.one', { id })} lead={<ToLink to="/admin/channels">{t('channels.all')}</ToLink>}>
      <Failure error={channel.error} retry={() => void channel.refetch()} />
    </Page>
  );
}

function Known({ channel }: { readonly channel: ChannelDetail }) {
  const { t } = useTranslation(['upstreams', 'shell']);
  const { test } = useSearch({ strict: false }) as { readonly test?: unknown };
  const refresh = useRefresh();
  const notices = useNotices();
  const save = async (draft: ChannelDraft): Promise<void> => {
    const { vendor: _fixed, ...whole } = keepsCredentials(draft)
      ? { ...toSettings(draft), vendor: undefined }
      : toBody(draft);
    await call(changeChannel, { params: { id: String(channel.id) }, body: whole });
    await refresh();
    notices.done(t('shell:saved'));
  };
  return (
    <Page
      title={channel.name}
      lead={<ToLink to="/admin/channels">{t('channels.all')}</ToLink>}
      size="xl"
      actions={<ChannelState enabled={channel.enabled} state={channel.state} />}
    >
      <SimpleGrid cols={{ base: 1, lg: 2 }} style={{ alignItems: 'start' }}>
        <Stack miw={0}>
          <Panel title={t('channels.atAGlance')}>
            <Facts
              facts={[
                [t('channels.vendor'), vendorTitle(channel.vendor)],
                [
                  t('channels.unfinished'),
                  channel.unfinished_tasks === 0 ? (
                    '0'
                  ) : (
                    <ToLink
                      key="unfinished"
                      to="/admin/tasks"
                      search={{ channel_id: channel.id, unfinished: true }}
                      size="sm"
                    >
                      {String(channel.unfinished_tasks)}
                    </ToLink>
                  ),
                ],
                [t('channels.keysOnFile'), <Code key="keys">{channel.credential_keys.join(', ') || '–'}</Code>],
                [t('channels.changed'), <Moment key="changed" at={channel.updated_time} />],
              ]}
            />
            {channel.unserved_models.length === 0 ? null : (
              <Text size="sm" mt="md">
                {t('channels.unserved', { models: channel.unserved_models.join(', ') })}{' '}
                <ToLink to="/admin/models/new" underline="always">
                  {t('models.make')}
                </ToLink>
              </Text>
            )}
            <Group mt="lg" />
            <TestPanel id={channel.id} isVideo={channel.vendor !== 'openai'} atOnce={test === true} />
          </Panel>
          <Panel title={t('channels.health')}>
            <HealthTable health={channel.health} />
          </Panel>
          <Panel
            title={t('channels.lastErrors')}
            actions={
              <ToButton to="/admin/tasks" search={{ channel_id: channel.id }} size="compact-sm" variant="default">
                {t('channels.seeTasks')}
              </ToButton>
            }
          >
            <LastErrors errors={channel.last_errors} />
          </Panel>
        </Stack>
        <Stack miw={0}>
          <Panel title={t('channels.settings')}>
            <ChannelForm
              key={channel.updated_time}
              start={toDraft(channel)}
              isNew={false}
              action={t('shell:save')}
              save={save}
            />
          </Panel>
          <RemoveChannel channel={channel} />
        </Stack>
      </SimpleGrid>
    </Page>
  );
}

function LastErrors({ errors }: { readonly errors: ChannelDetail['last_errors'] }) {
  const { t } = useTranslation('upstreams');
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
              <Moment at={error.time} size="xs" c="dimmed" />
            </Table.Td>
            <Table.Td style={{ overflowWrap: 'anywhere' }}>
              <Text size="sm" fw={600}>
                {t(`reasons.${toReason(error.reason)}`)}
                {error.model === '' ? '' : ` · ${error.model}`}
              </Text>
              <Text size="xs" c="dimmed">
                {[error.code, error.message].filter((each) => each !== '').join(': ')}
              </Text>
            </Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  );
}
