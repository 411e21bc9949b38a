import { checkAccessibilityOfEveryPage } from './check-accessibility-of-every-page.ts';

checkAccessibilityOfEveryPage({ language: 'en', scheme: 'light', width: 1280, height: 860 });
