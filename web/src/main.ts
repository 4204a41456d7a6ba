import { mount } from 'svelte';
import App from './App.svelte';
import { followLinks } from './lib/address.svelte';
import { listen } from './lib/keys.svelte';
import { present } from './lib/session.svelte';
import { begin } from './i18n';
import './layout/style.css';

followLinks();
listen();
const known = present.begin();
await begin();
mount(App, { target: document.getElementById('page')! });
await known;
