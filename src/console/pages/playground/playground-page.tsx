import { useTranslation } from 'react-i18next';
import { useListFilters } from '../../components/list/use-list-filters.ts';
import { Page } from '../../components/page.tsx';
import { SegmentedControl } from '../../components/segmented-control.tsx';
import { ChatPlayground } from './chat-playground.tsx';
import { ImagePlayground } from './image-playground.tsx';

/** Tries chat and image models, charged like any call. */
export function PlaygroundPage() {
  const { t } = useTranslation(['playground', 'app']);
  const filters = useListFilters(['mode']);
  const mode = filters.value.mode === 'images' ? 'images' : 'chat';
  return (
    <Page
      title={t('app:pages.playground')}
      subtitle={t('lead')}
      size="xl"
      actions={
        <SegmentedControl
          aria-label={t('mode')}
          value={mode}
          onChange={(value) => filters.set('mode', value === 'chat' ? undefined : value)}
          data={(['chat', 'images'] as const).map((value) => ({ value, label: t(`modes.${value}`) }))}
        />
      }
    >
      {mode === 'chat' ? <ChatPlayground /> : <ImagePlayground />}
    </Page>
  );
}
