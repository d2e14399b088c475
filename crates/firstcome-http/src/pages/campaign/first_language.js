// The language of a page: the one of its address, the one that was chosen before, or one of the browser.
const LANGUAGE = "firstcome-language";
const forBrowser = () => localStorage;

language = spoken([new URLSearchParams(location.search).get("lang") ?? kept(forBrowser, LANGUAGE), ...navigator.languages]);
